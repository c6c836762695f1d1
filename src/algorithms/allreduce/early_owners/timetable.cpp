// The rounds are filled greedily, contributions before results, since all ranks wait for
// contributions (contributions.cpp, results.cpp).
#include "algorithms/allreduce/early_owners/timetable.hpp"

#include "algorithms/allreduce/early_owners/contributions.hpp"
#include "algorithms/allreduce/early_owners/ports.hpp"
#include "algorithms/allreduce/early_owners/results.hpp"
#include "base/interruption.hpp"

namespace latecomer::allreduce {
namespace {

class Rounds {
 public:
  Rounds(const std::vector<Count>& arrivals, Count blocks)
      : arrivals_(arrivals),
        blocks_(blocks),
        ports_(static_cast<Count>(arrivals.size())),
        contributions_(static_cast<Count>(arrivals.size()), blocks),
        results_(static_cast<Count>(arrivals.size()), blocks) {
    table_.exits.assign(arrivals.size(), 0);
  }

  Timetable run() {
    const std::size_t all = 2 * (arrivals_.size() - 1) * static_cast<std::size_t>(blocks_);
    table_.hops.reserve(all);
    for (Count round = 0; table_.hops.size() < all;) {
      interruption_point();
      const std::size_t before = table_.hops.size();
      ports_.begin(arrivals_, round);
      contributions_.send(ports_, table_.hops);
      results_.send(ports_, table_.hops);
      end(before, round + 1);
      round = table_.hops.size() > before ? round + 1 : next_arrival(round);
    }
    return std::move(table_);
  }

 private:
  [[nodiscard]] Count next_arrival(Count round) const {
    Count next = -1;
    for (const Count arrival : arrivals_) {
      if (arrival > round && (next < 0 || arrival < next)) next = arrival;
    }
    return next;
  }

  /// Ends a round: only now its receivers have the blocks that were sent in it.
  void end(std::size_t first, Count round) {
    for (std::size_t i = first; i < table_.hops.size(); ++i) {
      Hop& hop = table_.hops[i];
      hop.round = round - 1;
      table_.exits[hop.from] = table_.exits[hop.to] = round;
      if (hop.final) {
        results_.come(hop.to, hop.block);
        contributions_.note_result(hop.to);
      } else if (contributions_.come(hop.block)) {
        results_.finish(hop.block, contributions_.owner(hop.block));
        contributions_.note_result(contributions_.owner(hop.block));
      }
    }
    table_.rounds = round;
  }

  const std::vector<Count>& arrivals_;
  Count blocks_;
  FreePorts ports_;
  Contributions contributions_;
  Results results_;
  Timetable table_;
};

}  // namespace

Timetable make_timetable(const std::vector<Count>& arrivals, Count blocks) {
  return Rounds(arrivals, blocks).run();
}

}  // namespace latecomer::allreduce
