// The answers of a rank's machine to the library under test: its name, its cores, and memory that
// the ranks of a machine share. All ranks that map the same memory get the same addresses, so that
// words in it can be waited for (system_calls.cpp).
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <map>
#include <string>
#include <tuple>

#include "worlds/heap.hpp"
#include "worlds/mpi_state.hpp"

namespace latecomer::worlds {
namespace {

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Where a rank reads which machine it is on.
constexpr const char* kIdentity = "/proc/sys/kernel/random/boot_id";

/// The system refuses the rank memory for its node.
bool refused(int code) {
  const Scheduler* const world = Scheduler::running();
  if (world == nullptr || !request_fails(world->me(), Resource::node, 0)) return false;
  errno = code;
  return true;
}

struct Shared {
  void* at;
  int users;
};

/// Mapped memory, by file, begin and bytes.
std::map<std::tuple<ino_t, off_t, std::size_t>, Shared>& mapped() {
  static auto& all = *new std::map<std::tuple<ino_t, off_t, std::size_t>, Shared>;
  return all;
}

/// A file with this text.
std::string file_of(const std::string& text) {
  static auto& all = *new std::map<std::string, int>;
  const auto [place, made] = all.emplace(text, -1);
  if (made) {
    place->second = memfd_create("text", 0);
    (void)!::write(place->second, text.data(), text.size());
  }
  return "/proc/self/fd/" + std::to_string(place->second);
}

}  // namespace
}  // namespace latecomer::worlds

using namespace latecomer::worlds;  // NOLINT: the functions below belong to no namespace

extern "C" {

long sysconf(int what) noexcept {
  static auto* const real = next<long(int)>("sysconf");
  constexpr int kCores = 4;  // a world is the same on every machine
  return Scheduler::running() != nullptr && what == _SC_NPROCESSORS_ONLN ? kCores : real(what);
}

int memfd_create(const char* name, unsigned flags) noexcept {
  static auto* const real = next<int(const char*, unsigned)>("memfd_create");
  return refused(EMFILE) ? -1 : real(name, flags);
}

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const auto mode = va_arg(list, mode_t);
  va_end(list);
  static auto* const real = next<int(const char*, int, ...)>("open");
  const HeapOwner nobody(kNobody);
  if (Scheduler::running() != nullptr && path == std::string(kIdentity)) {
    RankState& me = Within()->mine();
    me.identified = true;
    return real(file_of(me.machine).c_str(), flags);
  }
  return refused(EMFILE) ? -1 : real(path, flags, mode);
}

int ftruncate(int file, off_t bytes) noexcept {
  static auto* const real = next<int(int, off_t)>("ftruncate");
  return refused(ENOSPC) ? -1 : real(file, bytes);
}

int posix_fallocate(int file, off_t begin, off_t bytes) {
  static auto* const real = next<int(int, off_t, off_t)>("posix_fallocate");
  return refused(ENOSPC) ? ENOSPC : real(file, begin, bytes);
}

void* mmap(void* where, std::size_t bytes, int protection, int flags, int file,
           off_t begin) noexcept {
  static auto* const real = next<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  struct stat found{};
  if (Scheduler::running() == nullptr || file < 0 || fstat(file, &found) != 0) {
    return real(where, bytes, protection, flags, file, begin);
  }
  if (refused(ENOMEM)) return MAP_FAILED;
  const HeapOwner nobody(kNobody);
  const auto [place, made] = mapped().emplace(std::tuple(found.st_ino, begin, bytes), Shared{});
  if (made) place->second.at = real(where, bytes, protection, flags, file, begin);
  if (place->second.at == MAP_FAILED) {
    mapped().erase(place);
    return MAP_FAILED;
  }
  ++place->second.users;
  return place->second.at;
}

int munmap(void* at, std::size_t bytes) noexcept {
  static auto* const real = next<int(void*, std::size_t)>("munmap");
  const HeapOwner nobody(kNobody);
  auto& all = mapped();
  for (auto each = all.begin(); each != all.end(); ++each) {
    if (each->second.at != at || std::get<2>(each->first) != bytes) continue;
    if (--each->second.users > 0) return 0;
    all.erase(each);
    break;
  }
  return real(at, bytes);
}

}  // extern "C"
