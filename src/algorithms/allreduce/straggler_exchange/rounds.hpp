// The partners and blocks of every round after the last rank has arrived.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace latecomer::allreduce {

inline constexpr Rank kNoBlock = -1;

/// The exchange of one position in one round. Both partners may send at the same time.
struct Exchange {
  Rank partner = 0;
  Rank sent = kNoBlock;
  Rank received = kNoBlock;

  bool operator==(const Exchange&) const = default;
};

/// There are P positions, the last one the straggler's, and P-1 blocks; block c starts as the
/// partial result of all others at position c. In round c < P-1 position c and the straggler
/// exchange their partial results of block c, so that both can complete it. All other blocks that
/// are sent are complete.
class ExchangeRounds {
 public:
  /// `positions`: a power of two, 2 or more.
  explicit ExchangeRounds(Rank positions);

  /// P - 2 + log2 P.
  [[nodiscard]] Rank count() const { return last_block() + log2_; }
  [[nodiscard]] Exchange at(Rank position, Rank round) const;

 private:
  [[nodiscard]] Rank last_block() const { return positions_ - 2; }
  [[nodiscard]] Rank slot(Rank position, Rank round) const;
  [[nodiscard]] Rank position(Rank slot, Rank round) const;
  [[nodiscard]] Rank block_from(Rank slot, Rank round) const;

  Rank positions_;
  Rank log2_;
  std::vector<Rank> states_;  // of a shift register, from 1 on
  std::vector<Rank> steps_;   // by state: the number of steps until it is reached
};

}  // namespace latecomer::allreduce
