#include "runtime/trace/trace_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace latecomer::trace {
namespace {

constexpr std::uint64_t kGrowth = 1 << 20;  // bytes

/// Opens a folder of this user's that others cannot write to, or makes it. Negative: `why`.
int open_folder(const std::string& folder, std::string& why) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    why = std::strerror(errno);
    return -1;
  }
  const int opened = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) why = std::strerror(errno);
  return opened;
}

}  // namespace

std::unique_ptr<File> File::make(const std::string& folder, const std::string& name,
                                 const Header& header, std::uint64_t limit, std::string& why) {
  const int within = open_folder(folder, why);
  if (within < 0) return nullptr;
  const int file =
      openat(within, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) {
    why = errno == EEXIST ? "it holds a trace already; name another folder" : std::strerror(errno);
    close(within);
    return nullptr;
  }
  auto made = fill(file, header, limit, why);
  // An empty file would be taken for a trace by the next job.
  if (!made) (void)unlinkat(within, name.c_str(), 0);
  close(within);
  return made;
}

std::unique_ptr<File> File::fill(int file, const Header& header, std::uint64_t limit,
                                 std::string& why) {
  void* const at = mmap(nullptr, limit, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) {
    why = std::string("no memory map: ") + std::strerror(errno);
    close(file);
    return nullptr;
  }
  madvise(at, limit, MADV_DONTFORK);
  std::unique_ptr<File> made(new File(file, static_cast<char*>(at), limit));
  if (!made->grow(sizeof header)) {
    why = std::strerror(errno);
    return nullptr;
  }
  std::memcpy(made->at_, &header, sizeof header);
  return made;
}

File::~File() {
  munmap(at_, mapped_);
  close(file_);
}

bool File::has_room(std::uint64_t records) {
  const std::uint64_t needed = sizeof(Header) + (header().used + records) * sizeof(Call);
  return needed <= have_ || grow(needed);
}

/// The memory beyond the file's end must not be touched, and neither must what the disk lacks.
bool File::grow(std::uint64_t bytes) {
  if (bytes > limit_) return false;
  const std::uint64_t wanted = std::min(limit_, std::max(bytes, have_ + kGrowth));
  errno = posix_fallocate(file_, 0, static_cast<off_t>(wanted));
  if (errno != 0) {
    limit_ = std::min(limit_, have_);
    return false;
  }
  have_ = wanted;
  return true;
}

void File::end(std::int64_t now) {
  header().end = now;
  const std::uint64_t used = sizeof(Header) + header().used * sizeof(Call);
  // A file that keeps its tail is as good: the header says how much of it counts.
  if (ftruncate(file_, static_cast<off_t>(used)) == 0) have_ = used;
}

}  // namespace latecomer::trace
