#include "runtime/idle.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace latecomer {
namespace {

constexpr Seconds kPatience = 2e-3;   // short calls are over by then; a sleep would make them long
constexpr Seconds kSlowPoll = 20e-6;  // a poll on a core of one's own takes a few microseconds
constexpr Seconds kLongestSleep = 100e-6;
constexpr double kPartOfWait = 0.125;  // a sleep makes a wait longer by no more than this

}  // namespace

void Idle::pause(Seconds waited) {
  ++polls_;
  const bool slow = crowded_ || waited > polls_ * kSlowPoll;
  if (waited < kPatience || !slow) {
    sched_yield();
    return;
  }
  const Seconds sleep = std::min(kPartOfWait * waited, kLongestSleep);
  std::this_thread::sleep_for(std::chrono::duration<double>(sleep));
}

}  // namespace latecomer
