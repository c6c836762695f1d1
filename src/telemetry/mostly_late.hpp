// Which ranks mostly come late: they should not do what all others wait for.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "schedule/placement.hpp"

namespace latecomer {

/// Equal on all ranks if they call its functions alike, in the same order.
class MostlyLate {
 public:
  /// Sets the placement of the ranks, so that each node has a rank for its tasks.
  void place(const Placement& placement) { placement_ = placement; }
  /// Learns a call's arrivals, in seconds after the earliest. The first call tells nothing: ranks
  /// start at different times.
  void learn(const std::vector<Seconds>& lateness);
  /// The ranks that mostly come late; empty before the first call. That changes only if it moves a
  /// task from such a rank to another: plans are made by it.
  [[nodiscard]] const std::vector<bool>& ranks() const { return ranks_; }

 private:
  /// A node, or all ranks where none share one.
  struct Group {
    std::size_t on = 0;  // the rank with the task
    bool known = false;
    bool relieved = false;  // one of its ranks is there now
  };

  [[nodiscard]] bool moves_tasks();

  Placement placement_;
  std::vector<Seconds> usual_;  // mean lateness over the last calls
  std::vector<bool> now_;
  std::vector<bool> ranks_;
  std::vector<Group> groups_;  // kept, so that a call allocates nothing
};

}  // namespace latecomer
