// The clock that a communicator's ranks share: rank 0's. runtime/connection/clocks/clock_sync.hpp
// keeps it right.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/types.hpp"
#include "clocks/clock.hpp"

namespace latecomer {

/// Groups of ranks that read the same clock: those of one running kernel and one time namespace.
struct ClockGroups {
  std::vector<Rank> leaders;  // the lowest rank of each clock, ascending; rank 0 is the first
  std::vector<Rank> mates;    // all ranks that read this rank's clock, ascending
};

/// `clocks`: the identity of each rank's clock; 0: not known, so the clock counts as the rank's
/// own.
[[nodiscard]] inline ClockGroups group_clocks(const std::vector<std::uint64_t>& clocks, Rank me) {
  ClockGroups groups;
  std::unordered_set<std::uint64_t> seen;
  const std::uint64_t mine = clocks[static_cast<std::size_t>(me)];
  for (Rank rank = 0; rank < static_cast<Rank>(clocks.size()); ++rank) {
    const std::uint64_t clock = clocks[static_cast<std::size_t>(rank)];
    if (clock == 0 || seen.insert(clock).second) groups.leaders.push_back(rank);
    if (rank == me || (clock != 0 && clock == mine)) groups.mates.push_back(rank);
  }
  return groups;
}

class Clocks {
 public:
  using LocalClock = Seconds (*)();

  explicit Clocks(ClockGroups groups, LocalClock clock = monotonic_clock)
      : groups_(std::move(groups)), local_(clock) {}

  [[nodiscard]] const ClockGroups& groups() const { return groups_; }
  /// True if the common clock was set up.
  [[nodiscard]] bool ready() const { return ready_; }

  [[nodiscard]] Seconds local() const { return local_(); }
  /// The common time at a local one, in seconds. It may step when the clocks are refreshed.
  [[nodiscard]] Seconds common(Seconds local_time) const { return model_.common(local_time); }
  [[nodiscard]] Seconds now() const { return common(local()); }
  /// A bound of the difference between now() and rank 0's clock; two ranks differ by at most the
  /// sum of theirs. Infinite while there is no common clock.
  [[nodiscard]] Seconds error() const {
    return ready_ ? model_.error_at(local()) : std::numeric_limits<double>::infinity();
  }
  [[nodiscard]] const ClockModel& model() const { return model_; }

  /// Takes a leader's new measurement.
  void learn(const ClockModel& fit) {
    history_.add(fit);
    take(history_.model());
  }
  /// Takes over the leader's model, on the other ranks.
  void take(const ClockModel& model) {
    model_ = model;
    ready_ = true;
  }

 private:
  ClockGroups groups_;
  LocalClock local_;
  bool ready_ = false;
  ClockHistory history_;
  ClockModel model_;
};

}  // namespace latecomer
