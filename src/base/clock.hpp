// The clocks of the process.
#pragma once

#include <time.h>

#include "base/types.hpp"

namespace latecomer {

[[nodiscard]] inline Seconds read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<Seconds>(now.tv_sec) + 1e-9 * static_cast<Seconds>(now.tv_nsec);
}

/// CLOCK_MONOTONIC, in seconds.
[[nodiscard]] inline Seconds monotonic_clock() { return read_clock(CLOCK_MONOTONIC); }

/// The processor time that this thread has used.
[[nodiscard]] inline Seconds processor_time() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace latecomer
