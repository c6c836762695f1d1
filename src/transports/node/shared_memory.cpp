#include "transports/node/shared_memory.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <system_error>

namespace latecomer {
namespace {

[[noreturn]] void fail(int code, const char* what) {
  throw std::system_error(code, std::generic_category(), what);
}

/// Each memory keeps a descriptor, to grow. Half of those that the process may have are the
/// program's: new descriptors have the lowest free number.
OwnDescriptor checked(int number, const char* what) {
  if (number < 0) fail(errno, what);
  OwnDescriptor descriptor(number);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return descriptor;
  if (static_cast<rlim_t>(number) >= limit.rlim_cur / 2) fail(EMFILE, what);
  return descriptor;
}

int number_of(const OwnDescriptor& descriptor, const char* what) {
  const int number = descriptor.get();
  if (number < 0) fail(EBADF, what);
  return number;
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

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* at_most) {
  syscall(SYS_futex, &word, operation, value, at_most, nullptr, 0);
}

}  // namespace

Mapping::~Mapping() {
  if (owned_) munmap(at_, bytes_);
}

SharedMemory::~SharedMemory() { unlink(); }

SharedMemory SharedMemory::make(Kind kind, std::size_t bytes) {
  constexpr const char* kWhat = "making memory for a node";
  SharedMemory made;
  made.bytes_ = bytes;
  int number = -1;
  if (kind == Kind::unnamed) {
    number = make_unnamed();
    made.path_ = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(number);
  } else {
    made.path_ = fresh_name();
    number = make_named(made.path_);
    made.named_ = number >= 0;
  }
  made.descriptor_ = checked(number, kWhat);
  const NoWriteSignals no_signals;  // the process may have a limit on the size of files
  if (ftruncate(number, static_cast<off_t>(bytes)) != 0) fail(errno, kWhat);
  return made;
}

SharedMemory SharedMemory::open(const std::string& path, std::size_t bytes) {
  SharedMemory opened;
  opened.bytes_ = bytes;
  opened.path_ = path;
  constexpr const char* kWhat = "opening the memory of a node";
  opened.descriptor_ = checked(::open(path.c_str(), O_RDWR | O_CLOEXEC), kWhat);
  struct stat found{};
  if (fstat(number_of(opened.descriptor_, kWhat), &found) != 0) fail(errno, kWhat);
  // A descriptor of that number may belong to another file.
  if (!S_ISREG(found.st_mode) || static_cast<std::size_t>(found.st_size) != bytes) {
    fail(EINVAL, kWhat);
  }
  return opened;
}

void SharedMemory::unlink() {
  if (std::exchange(named_, false)) ::unlink(path_.c_str());
}

void SharedMemory::reserve(std::size_t begin, std::size_t bytes) const {
  if (bytes == 0 || mapped_ != nullptr) return;
  constexpr const char* kWhat = "reserving memory for a node";
  const int code = reserve_room(number_of(descriptor_, kWhat), begin, bytes);
  if (code != 0) fail(code, kWhat);
}

Mapping SharedMemory::map(std::size_t begin, std::size_t bytes) const {
  if (mapped_ != nullptr) return {mapped_ + begin, bytes, false};
  constexpr const char* kWhat = "mapping the memory of a node";
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                        number_of(descriptor_, kWhat), static_cast<off_t>(begin));
  if (at == MAP_FAILED) fail(errno, kWhat);
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

void wait_for_change(const std::atomic<std::uint32_t>& word, std::uint32_t value, Seconds at_most) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(at_most);
  time.tv_nsec = static_cast<long>(1e9 * (at_most - static_cast<Seconds>(time.tv_sec)));
  futex(word, FUTEX_WAIT, value, &time);
}

void wake_all(const std::atomic<std::uint32_t>& word) { futex(word, FUTEX_WAKE, INT_MAX, nullptr); }

}  // namespace latecomer
