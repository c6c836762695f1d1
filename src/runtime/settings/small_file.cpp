#include "runtime/settings/small_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "base/error.hpp"

namespace latecomer {
namespace {

/// An open file, closed at the end.
class File {
 public:
  /// Does not wait for the writer of a pipe.
  explicit File(const std::string& name)
      : handle_(open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {}
  ~File() {
    if (handle_ >= 0) close(handle_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] bool regular() const {
    struct stat found{};
    return fstat(handle_, &found) == 0 && S_ISREG(found.st_mode);
  }
  /// The text, as far as it can be read, and at most one byte more than allowed.
  [[nodiscard]] std::string text(std::size_t most) const {
    std::string all(most + 1, '\0');
    std::size_t size = 0;
    while (size < all.size()) {
      const ssize_t more = read(handle_, all.data() + size, all.size() - size);
      if (more <= 0) break;
      size += static_cast<std::size_t>(more);
    }
    all.resize(size);
    return all;
  }
  [[nodiscard]] bool is_open() const { return handle_ >= 0; }

 private:
  int handle_;
};

}  // namespace

std::string read_small_file(const std::string& what, const std::string& name, std::size_t most) {
  const File file(name);
  if (!file.is_open()) throw Error(what, name, "a file that can be read");
  std::string text = file.regular() ? file.text(most) : "";
  if (!file.regular() || text.size() > most) {
    throw Error(what, name, "a regular file of at most " + std::to_string(most >> 10) + " KiB");
  }
  constexpr std::string_view kMark = "\xEF\xBB\xBF";  // some editors begin a file with it
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
  return text;
}

}  // namespace latecomer
