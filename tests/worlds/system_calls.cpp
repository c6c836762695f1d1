// The functions of the C library by which the library under test sees time pass, or waits. While a
// rank of a world runs they are those of virtual time, and elsewhere those of the machine.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <map>
#include <vector>

#include "worlds/heap.hpp"
#include "worlds/scheduler.hpp"

namespace latecomer::worlds {
namespace {

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

constexpr Time kEpoch = 1'000'000'000 * kSecond;  // when worlds begin, as calendars say

Time in_nanoseconds(const timespec& span) { return span.tv_sec * kSecond + span.tv_nsec; }

/// Ranks that sleep until somebody wakes those of an address.
std::multimap<const void*, int>& sleepers() {
  static std::multimap<const void*, int> all;
  return all;
}

long wait_for_flag(Scheduler& world, const void* word, int operation, std::uint32_t value,
                   const timespec* at_most) {
  const HeapOwner nobody(kNobody);
  auto& all = sleepers();
  if ((operation & FUTEX_CMD_MASK) == FUTEX_WAKE) {
    const auto [begin, end] = all.equal_range(word);
    std::vector<int> woken;
    for (auto each = begin; each != end; ++each) woken.push_back(each->second);
    all.erase(begin, end);
    for (const int rank : woken) world.wake(rank, world.now());
    return static_cast<long>(woken.size());
  }
  if (*static_cast<const volatile std::uint32_t*>(word) != value) return 0;
  all.emplace(word, world.me());
  const int me = world.me();
  if (at_most == nullptr) {
    world.pause(kNever);
  } else {
    world.idle(in_nanoseconds(*at_most));  // a system may let it sleep for longer
  }
  for (auto [each, end] = all.equal_range(word); each != end; ++each) {
    if (each->second == me) {
      all.erase(each);
      break;
    }
  }
  return 0;
}

}  // namespace
}  // namespace latecomer::worlds

using namespace latecomer::worlds;  // NOLINT: the functions below belong to no namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  Scheduler* const world = Scheduler::running();
  if (world == nullptr) {
    static auto* const real = next<int(clockid_t, timespec*)>("clock_gettime");
    return real(clock, time);
  }
  world->spend(20);  // time passes for those who do nothing but look at it
  // The hosts' calendars agree.
  const Time now = clock == CLOCK_REALTIME ? kEpoch + world->now() : world->shown();
  time->tv_sec = now / kSecond;
  time->tv_nsec = now % kSecond;
  return 0;
}

int sched_yield() noexcept {
  Scheduler* const world = Scheduler::running();
  if (world == nullptr) return static_cast<int>(syscall(SYS_sched_yield));
  world->idle(kMicrosecond);
  return 0;
}

int nanosleep(const timespec* span, timespec* left) {
  Scheduler* const world = Scheduler::running();
  if (world == nullptr) {
    static auto* const real = next<int(const timespec*, timespec*)>("nanosleep");
    return real(span, left);
  }
  world->idle(in_nanoseconds(*span));
  return 0;
}

ssize_t getrandom(void* buffer, size_t size, unsigned flags) {
  Scheduler* const world = Scheduler::running();
  if (world == nullptr) {
    static auto* const real = next<ssize_t(void*, size_t, unsigned)>("getrandom");
    return real(buffer, size, flags);
  }
  for (size_t i = 0; i < size; ++i) {
    static_cast<unsigned char*>(buffer)[i] = static_cast<unsigned char>(world->random()());
  }
  return static_cast<ssize_t>(size);
}

// Standard error is kept by the world. A rank has no second descriptor of it: all ranks of many
// worlds would use up those of the process.
ssize_t write(int file, const void* text, size_t size) {
  Scheduler* const world = Scheduler::running();
  if (world != nullptr && file == STDERR_FILENO) {
    world->say({static_cast<const char*>(text), size});
    return static_cast<ssize_t>(size);
  }
  return ::syscall(SYS_write, file, text, size);
}

int fcntl(int file, int command, ...) {
  va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  if (Scheduler::running() != nullptr && command == F_DUPFD_CLOEXEC) {
    errno = EMFILE;
    return -1;
  }
  static auto* const real = next<int(int, int, ...)>("fcntl");
  return real(file, command, argument);
}

long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long argument[6];
  for (long& each : argument) each = va_arg(list, long);
  va_end(list);
  Scheduler* const world = Scheduler::running();
  if (world != nullptr && number == SYS_futex) {
    return wait_for_flag(*world, reinterpret_cast<const void*>(argument[0]),
                         static_cast<int>(argument[1]), static_cast<std::uint32_t>(argument[2]),
                         reinterpret_cast<const timespec*>(argument[3]));
  }
  static auto* const real = next<long(long, ...)>("syscall");
  return real(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

}  // extern "C"
