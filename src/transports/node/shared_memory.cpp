#include "transports/node/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <system_error>

namespace latecomer {
namespace {

[[noreturn]] void fail(int code, const char* what) {
  throw std::system_error(code, std::generic_category(), what);
}

/// A file beyond the process's limit would end the process by a signal.
void check_limit(std::size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return;
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes) {
    fail(EFBIG, "making memory for a node");
  }
}

/// Each memory keeps a descriptor, to grow. Half of those that the process may have are the
/// program's: new descriptors have the lowest free number.
void check_descriptor(int descriptor, const char* what) {
  if (descriptor < 0) fail(errno, what);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  if (static_cast<rlim_t>(descriptor) >= limit.rlim_cur / 2) fail(EMFILE, what);
}

int make_unnamed() { return memfd_create("latecomer", MFD_CLOEXEC); }

/// A name that no other process of this machine uses at the same time.
std::string fresh_name() {
  static std::atomic<unsigned> made{0};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return "/dev/shm/latecomer-" + std::to_string(getpid()) + '-' + std::to_string(now) + '-' +
         std::to_string(made++);
}

int make_named(const std::string& name) {
  return ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

}  // namespace

Mapping::~Mapping() {
  if (owned_) munmap(at_, bytes_);
}

SharedMemory::~SharedMemory() {
  unlink();
  if (descriptor_ >= 0) close(descriptor_);
}

SharedMemory SharedMemory::make(Kind kind, std::size_t bytes) {
  check_limit(bytes);
  SharedMemory made;
  made.bytes_ = bytes;
  if (kind == Kind::unnamed) {
    made.descriptor_ = make_unnamed();
    made.path_ = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(made.descriptor_);
  } else {
    made.path_ = fresh_name();
    made.descriptor_ = make_named(made.path_);
    made.named_ = made.descriptor_ >= 0;
  }
  check_descriptor(made.descriptor_, "making memory for a node");
  if (ftruncate(made.descriptor_, static_cast<off_t>(bytes)) != 0) {
    fail(errno, "making memory for a node");
  }
  return made;
}

SharedMemory SharedMemory::open(const std::string& path, std::size_t bytes) {
  SharedMemory opened;
  opened.bytes_ = bytes;
  opened.path_ = path;
  opened.descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  check_descriptor(opened.descriptor_, "opening the memory of a node");
  struct stat found{};
  if (fstat(opened.descriptor_, &found) != 0) fail(errno, "opening the memory of a node");
  // A descriptor of that number may belong to another file.
  if (!S_ISREG(found.st_mode) || static_cast<std::size_t>(found.st_size) != bytes) {
    fail(EINVAL, "opening the memory of a node");
  }
  return opened;
}

void SharedMemory::unlink() {
  if (std::exchange(named_, false)) ::unlink(path_.c_str());
}

void SharedMemory::reserve(std::size_t begin, std::size_t bytes) const {
  if (bytes == 0 || mapped_ != nullptr) return;
  int code = EINTR;
  while (code == EINTR) {
    code = posix_fallocate(descriptor_, static_cast<off_t>(begin), static_cast<off_t>(bytes));
  }
  if (code != 0) fail(code, "reserving memory for a node");
}

Mapping SharedMemory::map(std::size_t begin, std::size_t bytes) const {
  if (mapped_ != nullptr) return {mapped_ + begin, bytes, false};
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_,
                        static_cast<off_t>(begin));
  if (at == MAP_FAILED) fail(errno, "mapping the memory of a node");
  return {static_cast<std::byte*>(at), bytes, true};
}

SharedMemory SharedMemory::within(const Mapping& whole) {
  SharedMemory memory;
  memory.mapped_ = whole.data();
  memory.bytes_ = whole.bytes();
  return memory;
}

std::size_t SharedMemory::page() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace latecomer
