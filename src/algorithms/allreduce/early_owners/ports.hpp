// Who can still send, and receive, in a round.
#pragma once

#include <vector>

#include "algorithms/allreduce/early_owners/bit_rows.hpp"
#include "algorithms/allreduce/early_owners/timetable.hpp"

namespace latecomer::allreduce {

class FreePorts {
 public:
  explicit FreePorts(Count ranks) : free_(2, ranks) {}

  [[nodiscard]] ConstBits senders() const { return free_[0]; }
  [[nodiscard]] ConstBits receivers() const { return free_[1]; }

  /// A round begins: all who have arrived can do both.
  void begin(const std::vector<Count>& arrivals, Count round) {
    free_.clear();
    for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
      if (arrivals[rank] > round) continue;
      insert(free_[0], static_cast<Count>(rank));
      insert(free_[1], static_cast<Count>(rank));
    }
  }
  void take(const Hop& hop) {
    erase(free_[0], hop.from);
    erase(free_[1], hop.to);
  }

 private:
  BitRows free_;
};

}  // namespace latecomer::allreduce
