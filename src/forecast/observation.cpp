#include "forecast/observation.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/parse.hpp"

namespace latecomer {
namespace {

// Thirty thousand years: sums and differences of a few such times are finite.
constexpr Seconds kFarthest = 1e12;

void check_times(const char* name, const std::vector<Seconds>& times, Rank ranks) {
  const auto what = [&] { return std::string(name); };
  if (times.size() != static_cast<std::size_t>(ranks)) {
    throw Error("number of " + what() + "s", std::to_string(times.size()),
                "one for each of " + std::to_string(ranks) + " ranks");
  }
  const auto is_time = [](Seconds time) {  // false for NaN
    return std::abs(time) <= kFarthest;
  };
  std::int64_t wrong = 0;
  for (const Seconds time : times) wrong += is_time(time) ? 0 : 1;
  if (wrong == 0) return;
  for (std::size_t rank = 0; rank < times.size(); ++rank) {
    if (is_time(times[rank])) continue;
    throw Error(what() + " of rank " + std::to_string(rank), format_number(times[rank]),
                "a time between -1e12 and 1e12 seconds");
  }
}

}  // namespace

void check(const Observation& observation, Rank ranks) {
  check_times("arrival", observation.arrivals, ranks);
  if (!observation.exits_before.empty()) check_times("exit", observation.exits_before, ranks);
}

}  // namespace latecomer
