#include "runtime/background/pace.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace latecomer {
namespace {

constexpr Seconds kShortest = 20e-6;
constexpr double kPartOfWait = 0.25;   // a sleep makes a wait longer by no more than this
constexpr Seconds kIdle = 500e-6;      // between looks while nothing comes
constexpr Seconds kLongest = 5e-3;     // however many communicators there are to look at
constexpr double kLooksInSleep = 150;  // below 1 % of a core

Seconds seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<Seconds>(time.tv_sec) + 1e-9 * static_cast<Seconds>(time.tv_nsec);
}

}  // namespace

Seconds Pace::sleep_after(Seconds waited, Seconds cost) {
  const Seconds idle = std::clamp(kLooksInSleep * cost, kIdle, kLongest);
  return std::clamp(kPartOfWait * waited, kShortest, idle);
}

void Pace::pause(bool moved) {
  const Seconds now = seconds_of(CLOCK_MONOTONIC);
  const Seconds used = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  const Seconds cost = used - used_;
  used_ = used;
  if (moved) {
    last_moved_ = now;
    sched_yield();
    return;
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(sleep_after(now - last_moved_, cost)));
}

}  // namespace latecomer
