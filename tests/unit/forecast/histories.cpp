#include "unit/forecast/histories.hpp"

#include <algorithm>
#include <cstdlib>

namespace latecomer::testing {

std::uint64_t base_seed() {
  const char* text = std::getenv("LATECOMER_TEST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

Loop::Loop(Rank ranks, Seconds noise, std::uint64_t seed)
    : ranks_(ranks), noise_(noise), random_(seed) {}

Observation Loop::call(const Times& late, const Times& exits) {
  constexpr Seconds kComputing = 0.1;
  constexpr Seconds kTransfer = 0.03;
  Observation seen{.arrivals = exits_, .exits_before = exits_};
  if (exits_.empty()) seen.arrivals = Times(static_cast<std::size_t>(ranks_), 1000.0);
  for (std::size_t rank = 0; rank < seen.arrivals.size(); ++rank) {
    seen.arrivals[rank] += kComputing + late[rank] + noise_ * random_.uniform();
  }
  const Seconds last = *std::max_element(seen.arrivals.begin(), seen.arrivals.end());
  exits_.assign(seen.arrivals.size(), last + kTransfer);
  for (std::size_t rank = 0; rank < exits.size(); ++rank) exits_[rank] += exits[rank];
  return seen;
}

Times one_late(Rank ranks, Rank late_rank, Seconds delay) {
  Times late(static_cast<std::size_t>(ranks));
  late[static_cast<std::size_t>(late_rank)] = delay;
  return late;
}

Times random_times(Rank ranks, Seconds delay, Random& random) {
  Times late(static_cast<std::size_t>(ranks));
  for (Seconds& time : late) time = delay * random.uniform();
  return late;
}

Lateness persistent(Rank ranks, Rank late_rank, Seconds delay) {
  return [=](int) { return one_late(ranks, late_rank, delay); };
}

Lateness changing(Rank ranks, int calls, Seconds delay, std::uint64_t seed) {
  return [=, random = Random(seed), late_rank = Rank{0}](int call) mutable {
    const auto others = static_cast<std::uint64_t>(ranks - 1);
    if (call % calls == 0) {
      late_rank =
          static_cast<Rank>((late_rank + 1 + static_cast<Rank>(random.below(others))) % ranks);
    }
    return one_late(ranks, late_rank, delay);
  };
}

Lateness periodic(Rank ranks, Rank late_rank, int period, int first, Seconds delay) {
  return [=](int call) { return one_late(ranks, late_rank, call % period == first ? delay : 0); };
}

Lateness growing(Rank ranks, Rank late_rank, Seconds step) {
  return [=](int call) { return one_late(ranks, late_rank, step * call); };
}

Lateness wandering(Rank ranks, Rank move, Seconds delay) {
  return [=](int call) { return one_late(ranks, static_cast<Rank>(call * move % ranks), delay); };
}

Lateness all_random(Rank ranks, Seconds delay, std::uint64_t seed) {
  return [=, random = Random(seed)](int) mutable { return random_times(ranks, delay, random); };
}

Lateness one_random(Rank ranks, Seconds delay, std::uint64_t seed) {
  return [=, random = Random(seed)](int) mutable {
    const auto late_rank = random.below(static_cast<std::uint64_t>(ranks));
    return one_late(ranks, static_cast<Rank>(late_rank), delay);
  };
}

}  // namespace latecomer::testing
