// A sample tells whether this process ran in its time outside of MPI, and why it did not: the
// system is asked at both ends of as many times between two calls as take 0.2 % of the run.
#pragma once

#include <cstdint>

#include "trace/records.hpp"

namespace latecomer::outside {

/// From now on this thread is looked at: it has none that was looked at before.
void begin();
/// The times of this thread so far; all 0: nothing is known.
[[nodiscard]] trace::Outside totals();

struct Next {
  bool measures = false;    // the time since the last call is in the sample
  std::uint32_t calls = 0;  // else: until the end of this many more; 0: never
};
inline constinit thread_local Next next;

void start();
void stop();

/// A call of MPI is entered.
inline void entered() {
  if (next.measures) stop();
}
/// A call of MPI has ended.
inline void left() {
  if (!next.measures) {
    if (next.calls == 0) return;
    --next.calls;
    if (next.calls > 0) return;
  }
  start();
}

}  // namespace latecomer::outside
