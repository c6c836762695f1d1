// Time: one clock for all ranks where they share a running kernel, else each its own.
#pragma once

namespace bench {

/// Seconds of the monotonic clock.
[[nodiscard]] double now();
void sleep_until(double time);

/// True if now() means the same on all ranks: same boot, same time namespace. Collective.
[[nodiscard]] bool clock_is_common();

}  // namespace bench
