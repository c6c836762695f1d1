#include "simulate/ticks.hpp"

#include <cmath>
#include <string>

#include "base/error.hpp"
#include "base/parse.hpp"

namespace latecomer {
namespace {

constexpr Seconds kLongest = 1e6;
// A longest time before the last tick, so that no sum that is compared with it wraps.
constexpr Ticks kEnd = 8'000'000'000'000'000'000;

}  // namespace

Ticks later(Ticks time, Ticks by) {
  if (time <= kEnd - by) return time + by;
  throw Error("end of the simulated time", format_number(to_seconds(time) + to_seconds(by)) + "s",
              "8e6 seconds at most, with shorter messages or fewer of them");
}

Ticks to_ticks(std::string_view what, Seconds seconds) {
  if (std::abs(seconds) <= kLongest) return std::llround(seconds * 1e12);
  // NaN as well.
  throw Error(std::string(what), format_number(seconds) + "s",
              "a time of at most 1e6 seconds, the longest that is simulated");
}

Seconds to_seconds(Ticks ticks) { return static_cast<Seconds>(ticks) * 1e-12; }

}  // namespace latecomer
