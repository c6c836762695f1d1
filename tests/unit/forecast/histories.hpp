// Programs that call a collective again and again, and how late their ranks are: seeded.
#pragma once

#include <functional>
#include <vector>

#include "base/reproducible.hpp"
#include "forecast/forecast.hpp"

namespace latecomer::testing {

using Times = std::vector<Seconds>;
/// The lateness of each rank's computation before a call, by the call's number.
using Lateness = std::function<Times(int call)>;

/// From LATECOMER_TEST_SEED, or 1.
std::uint64_t base_seed();

/// A loop of computing and one call that no rank leaves before all have arrived.
class Loop {
 public:
  Loop(Rank ranks, Seconds noise, std::uint64_t seed);

  /// Ranks compute as much longer than others as `late` says, and up to `noise` more. They leave
  /// the call together, or as much later as `exits` says.
  Observation call(const Times& late, const Times& exits = {});

 private:
  Rank ranks_;
  Seconds noise_;
  Random random_;
  Times exits_;  // of the call before
};

Times one_late(Rank ranks, Rank late_rank, Seconds delay);
/// Uniform from 0 to delay.
Times random_times(Rank ranks, Seconds delay, Random& random);

Lateness persistent(Rank ranks, Rank late_rank, Seconds delay);
/// Another rank is late after each `calls` calls, at random.
Lateness changing(Rank ranks, int calls, Seconds delay, std::uint64_t seed);
/// One rank is late in the calls `first`, `first` + `period`, ...
Lateness periodic(Rank ranks, Rank late_rank, int period, int first, Seconds delay);
/// One rank is later by `step` in each call than in the one before.
Lateness growing(Rank ranks, Rank late_rank, Seconds step);
/// The late rank is `move` ranks further on in each call.
Lateness wandering(Rank ranks, Rank move, Seconds delay);
/// Every rank uniform from 0 to delay, without memory.
Lateness all_random(Rank ranks, Seconds delay, std::uint64_t seed);
/// One rank at random, without memory.
Lateness one_random(Rank ranks, Seconds delay, std::uint64_t seed);

}  // namespace latecomer::testing
