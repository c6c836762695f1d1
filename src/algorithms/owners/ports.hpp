// The messages of owners, and the ranks that can still send or receive one in a round.
#pragma once

#include <vector>

#include "patterns/bit_rows.hpp"

namespace latecomer::owners {

/// A message with one block: a partial result, which the receiver combines with its own and the
/// sender no longer needs, or the final one.
struct Hop {
  Rank from = 0;
  Rank to = 0;
  Count block = 0;
  bool final = false;
  Count round = 0;
};

class FreePorts {
 public:
  explicit FreePorts(Count ranks) : free_(2, ranks) {}

  [[nodiscard]] ConstBits senders() const { return free_[0]; }
  [[nodiscard]] ConstBits receivers() const { return free_[1]; }

  /// A round begins: all ranks that are present can send and receive.
  void begin(ConstBits present) {
    std::ranges::copy(present, free_[0].begin());
    std::ranges::copy(present, free_[1].begin());
  }
  void take(const Hop& hop) {
    erase(free_[0], hop.from);
    erase(free_[1], hop.to);
  }

 private:
  BitRows free_;
};

}  // namespace latecomer::owners
