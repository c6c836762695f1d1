#include "runtime/settings/default_network.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "runtime/settings/environment.hpp"

namespace latecomer {
namespace {

constexpr const char* kNetworkVariable = "LATECOMER_NETWORK";
constexpr std::size_t kMaxBytes = 64 << 10;

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
  [[nodiscard]] std::string text() const {
    std::string all(kMaxBytes + 1, '\0');
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

std::string text_of(const std::string& name) {
  const File file(name);
  if (!file.is_open()) throw Error("network file", name, "a file that can be read");
  std::string text = file.regular() ? file.text() : "";
  if (!file.regular() || text.size() > kMaxBytes) {
    throw Error("network file", name, "a regular file of at most 64 KiB");
  }
  return text;
}

/// The content may be a secret, where the name of the file is not the user's: it is not shown.
Network parse_line(const std::string& file, std::size_t number, std::string_view line) try {
  return parse_network(line);
} catch (const Error& error) {
  throw Error(error.subject() + " in " + file, "line " + std::to_string(number), error.remedy());
}

/// Reads the only line that is neither empty nor a comment.
Network read_file(const std::string& name) {
  const std::string text = text_of(name);
  std::size_t number = 0;
  std::size_t found = 0;
  Network network;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    if (line.empty() || line.front() == '#') continue;
    if (++found == 1) network = parse_line(name, number, line);
  }
  if (found == 1) return network;
  throw Error("network file " + name, std::to_string(found) + " lines with costs",
              "one, as in alpha=50us,beta=8ns");
}

}  // namespace

Network read_network(std::string_view text) {
  if (text.empty() || text.front() != '@') return parse_network(text);
  return read_file(std::string(text.substr(1)));
}

Network default_network() {
  const auto text = environment(kNetworkVariable);
  if (!text) return {};
  try {
    return read_network(*text);
  } catch (const Error& error) {
    report_unused(kNetworkVariable, error.what());
    return {};
  }
}

}  // namespace latecomer
