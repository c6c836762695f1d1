#include "patterns/circulant.hpp"

#include <algorithm>
#include <limits>

#include "patterns/powers.hpp"

namespace latecomer {
namespace {

constexpr Count kFree = std::numeric_limits<Count>::min();

std::vector<Rank> skips_of(Rank places) {
  std::vector<Rank> skips(static_cast<std::size_t>(ceil_log2(places)) + 1, places);
  for (std::size_t k = skips.size() - 1; k > 0; --k) skips[k - 1] = (skips[k] + 1) / 2;
  return skips;
}

/// The first block that a place receives: the number of the least skip on the way to it from place
/// 0 that takes the longest skips first. q for place 0.
std::size_t first_block(const std::vector<Rank>& skips, Rank place) {
  for (std::size_t k = skips.size() - 1; k-- > 0;) {
    if (place == skips[k]) return k;
    if (place > skips[k]) place -= skips[k];
  }
  return skips.size() - 1;
}

/// Finds the blocks that a place receives in the rounds of a phase. In round k it takes the first
/// block of the nearest place from which a way of short skips leads to it through the place before
/// it, v - skip_k, unless it takes this block in an earlier round. The ways to such places, from
/// place 0 by long skips first, are searched in depth; place 0 stands P places further back.
class Search {
 public:
  Search(const std::vector<Rank>& skips, Rank place)
      : skips_(skips),
        levels_(skips.size() - 1),
        goal_(place + skips.back()),
        own_(first_block(skips, place)),
        used_(skips.size(), false) {
    used_[own_] = true;
    from(0, 2 * skips.back() + 1, own_ == levels_ ? levels_ : levels_ + 1);
  }

  /// Numbers of blocks in phase 0: the place's own first one, and others of the phase before.
  [[nodiscard]] std::vector<Count> blocks() const {
    std::vector<Count> blocks;
    for (const std::size_t each : found_) {
      const auto number = static_cast<Count>(each == levels_ ? own_ : each);
      blocks.push_back(each == levels_ ? number : number - static_cast<Count>(levels_));
    }
    return blocks;
  }

 private:
  /// Follows ways that go on from `at` by one of the first `skips` skips, to places before `limit`.
  void from(Rank at, Rank limit, std::size_t skips) {
    while (skips-- > 0) {
      const Rank next = at + skips_[skips];
      if (used_[skips] || done() || next > before(0) || next >= limit) continue;
      if (next <= before(1)) from(next, limit, skips + 1);
      if (done() || at > before(1)) return;
      limit = next;
      found_.push_back(skips);
      used_[skips] = true;
    }
  }

  [[nodiscard]] bool done() const { return found_.size() == levels_; }
  /// The farthest place from which the block of a round may come: of this round, or of the next.
  [[nodiscard]] Rank before(std::size_t later) const {
    return goal_ - skips_[found_.size() + later];
  }

  const std::vector<Rank>& skips_;
  std::size_t levels_;
  Rank goal_;
  std::size_t own_;
  std::vector<bool> used_;
  std::vector<std::size_t> found_;  // by round
};

std::vector<Count> receives_of(const std::vector<Rank>& skips, Rank place) {
  return Search(skips, place).blocks();
}

/// Gives each round a block of its own, of those that are possible in it (Kuhn).
class Matching {
 public:
  explicit Matching(const std::vector<std::vector<Count>>& possible)
      : possible_(possible), round_of_(possible.size(), kFree) {
    for (std::size_t round = 0; round < possible.size(); ++round) {
      tried_.assign(possible.size(), false);
      find(round);
    }
  }

  /// Blocks -q to -1, by round.
  [[nodiscard]] std::vector<Count> blocks() const {
    const auto count = static_cast<Count>(round_of_.size());
    std::vector<Count> blocks(round_of_.size());
    for (Count i = 0; i < count; ++i) blocks[static_cast<std::size_t>(round_of_[i])] = i - count;
    return blocks;
  }

 private:
  bool find(std::size_t round) {
    for (const Count block : possible_[round]) {
      const auto index = static_cast<std::size_t>(block + static_cast<Count>(round_of_.size()));
      if (tried_[index]) continue;
      tried_[index] = true;
      if (round_of_[index] != kFree && !find(static_cast<std::size_t>(round_of_[index]))) continue;
      round_of_[index] = static_cast<Count>(round);
      return true;
    }
    return false;
  }

  const std::vector<std::vector<Count>>& possible_;
  std::vector<Count> round_of_;
  std::vector<bool> tried_;
};

/// The blocks that place 0 receives back. In round k of a phase the place before it has the blocks
/// of the earlier rounds, and its first one of the phase before.
std::vector<Count> returns_of(const std::vector<Rank>& skips) {
  const std::size_t levels = skips.size() - 1;
  const auto phase = static_cast<Count>(levels);
  std::vector<std::vector<Count>> possible(levels);
  for (std::size_t k = 0; k < levels; ++k) {
    const Rank place = skips.back() - skips[k];
    const std::vector<Count> blocks = receives_of(skips, place);
    possible[k].push_back(static_cast<Count>(first_block(skips, place)) - phase);
    for (std::size_t earlier = 0; earlier < k; ++earlier) {
      if (blocks[earlier] < 0) possible[k].push_back(blocks[earlier]);
    }
  }
  return Matching(possible).blocks();
}

}  // namespace

CirculantPlace::CirculantPlace(Rank places, Count blocks, Rank place)
    : places_(places),
      blocks_(blocks),
      place_(place),
      skips_(skips_of(places)),
      levels_(static_cast<Count>(skips_.size()) - 1),
      skipped_((levels_ - (blocks - 1) % levels_) % levels_),
      receives_(receives_of(skips_, place)) {
  for (std::size_t k = 0; k < static_cast<std::size_t>(levels_); ++k) {
    const Rank next = (place + skips_[k]) % places;
    sends_.push_back(next == 0 ? kFree : receives_of(skips_, next)[k]);
  }
  if (place == 0) receives_.assign(receives_.size(), kFree);
}

Count CirculantPlace::block(const std::vector<Count>& schedule, Count round) const {
  const Count at = phased(round);
  const Count number = schedule[static_cast<std::size_t>(at % levels_)];
  if (number == kFree) return kNone;
  const Count block = number + at / levels_ * levels_ - skipped_;
  return block < 0 ? kNone : std::min(block, blocks_ - 1);
}

Count CirculantPlace::returns(Count round) const {
  if (returns_.empty()) returns_ = returns_of(skips_);
  return block(returns_, round);
}

}  // namespace latecomer
