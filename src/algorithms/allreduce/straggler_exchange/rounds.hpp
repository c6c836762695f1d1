// The partners and blocks of every round after the last rank has arrived.
//
// A block that is complete spreads by doubling. With one new block a round this must not waste a
// message: in each round P/2 of the early positions hold the oldest block that is still on its way,
// P/4 the next one, and so on down to the block that its position has just exchanged with the
// straggler, and no position holds two of them. Half the ranks with the oldest block thus meet the
// other half: each of them passes it on and gets a younger one for it. One of them is left over: it
// meets the straggler.
//
// The partners are to be such that each position is left over exactly once. Put the early positions
// into slots 1..P-1, a slot of j bits holding the j-th youngest block, and the straggler into slot
// 0. In each round the slots shift as a linear feedback shift register does: x to 2x, minus its
// feedback polynomial where that has too many bits. Two slots that differ by half the polynomial
// end up as 2x and 2x+1, both a bit longer: they are partners. The straggler's partner is half the
// polynomial itself, which is followed by slot 1. With a primitive polynomial the register visits
// all slots, and so every position meets the straggler before any meets it again.
//
// After these rounds there are no new blocks; the straggler helps to spread the last block, which
// lacks the straggler's share of the doubling.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "base/types.hpp"
#include "patterns/powers.hpp"

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
  explicit ExchangeRounds(Rank positions)
      : positions_(positions),
        log2_(floor_log2(positions)),
        states_(all_states(positions)),
        steps_(static_cast<std::size_t>(positions), 0) {
    for (std::size_t step = 0; step < states_.size(); ++step) {
      steps_[states_[step]] = static_cast<Rank>(step);
    }
  }

  /// P - 2 + log2 P.
  [[nodiscard]] Rank count() const { return last_block() + log2_; }
  [[nodiscard]] Exchange at(Rank position, Rank round) const {
    const Rank mine = slot(position, round);
    const Rank other = mine ^ states_.back();  // the state before 1: half the polynomial
    return {this->position(other, round), block_from(mine, round), block_from(other, round)};
  }

 private:
  [[nodiscard]] Rank last_block() const { return positions_ - 2; }
  /// Position c is in the last state in round c, and in state 1 right after it.
  [[nodiscard]] Rank slot(Rank position, Rank round) const {
    const Rank early = positions_ - 1;
    if (position == early) return 0;
    return states_[(round - position - 1 + early) % early];
  }
  [[nodiscard]] Rank position(Rank slot, Rank round) const {
    const Rank early = positions_ - 1;
    if (slot == 0) return early;
    return (round - 1 - steps_[slot] + 2 * early) % early;
  }
  [[nodiscard]] Rank block_from(Rank slot, Rank round) const {
    const bool fresh = round <= last_block();
    if (slot == states_.back()) return fresh ? round : kNoBlock;
    const auto age = static_cast<Rank>(std::bit_width(static_cast<unsigned>(slot)));
    return std::max(kNoBlock, std::min(round - age, last_block()));
  }
  /// The states of the register, all below a power of two, from 1 on until 1 returns.
  [[nodiscard]] static std::vector<Rank> states_of(Rank polynomial, Rank states) {
    std::vector<Rank> all;
    Rank state = 1;
    do {
      all.push_back(state);
      state *= 2;
      if (state >= states) state ^= polynomial;
    } while (state != 1);
    return all;
  }

  /// The states for the first polynomial with which the register visits all states but 0.
  [[nodiscard]] static std::vector<Rank> all_states(Rank states) {
    for (Rank polynomial = states + 1;; polynomial += 2) {
      std::vector<Rank> visited = states_of(polynomial, states);
      if (static_cast<Rank>(visited.size()) == states - 1) return visited;
    }
  }

  Rank positions_;
  Rank log2_;
  std::vector<Rank> states_;  // of a shift register, from 1 on
  std::vector<Rank> steps_;   // by state: the number of steps until it is reached
};

}  // namespace latecomer::allreduce
