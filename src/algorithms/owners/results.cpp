// Each rank that can send is matched with a rank that lacks one of its blocks, first with those
// that have fewest blocks, and sends the block that fewest ranks have.
#include "algorithms/owners/results.hpp"

#include <algorithm>

#include "base/threads.hpp"

namespace latecomer::owners {

Results::Results(Count ranks, Count blocks)
    : ranks_(ranks),
      results_(ranks, blocks),
      links_(ranks, ranks),
      seen_(1, ranks),
      taken_(1, ranks),
      held_(static_cast<std::size_t>(blocks), 0),
      complete_(static_cast<std::size_t>(ranks), 0),
      sender_of_(static_cast<std::size_t>(ranks), -1) {}

void Results::finish(Count block, Rank owner) {
  if (ranks_ > 1) ++spreading_;
  held_[block] = 1;
  come(owner, block);
}

void Results::come(Rank rank, Count block) {
  insert(results_[rank], block);
  ++complete_[rank];
}

/// Finds as many pairs as possible by Kuhn's algorithm.
void Results::send(FreePorts& ports, std::vector<Hop>& hops) {
  if (spreading_ == 0) return;
  std::ranges::fill(sender_of_, -1);
  taken_.clear();
  for_each_member(ports.senders(),
                  [&](Count from) { link(static_cast<Rank>(from), ports.receivers()); });
  for_each_member(ports.senders(), [&](Count from) {
    seen_.clear();
    find_receiver(static_cast<Rank>(from));
  });
  for_each_member(taken_[0], [&](Count to) {
    const Rank from = sender_of_[to];
    hops.push_back({from, static_cast<Rank>(to), rarest(from, static_cast<Rank>(to)), true, 0});
    if (++held_[hops.back().block] == ranks_) --spreading_;
    ports.take(hops.back());
  });
}

template <class WordAt>
Rank Results::neediest(const WordAt& word) const {
  Rank best = -1;
  any_member(seen_.words(), word, [&](Count rank) {
    if (best < 0 || complete_[rank] < complete_[best]) best = static_cast<Rank>(rank);
    return false;
  });
  return best;
}

/// Notes the receivers to which the rank could send a block.
void Results::link(Rank from, ConstBits receivers) {
  interruption_point();
  std::ranges::fill(links_[from], 0);
  for_each_member(receivers, [&](Count to) {
    if (!within(results_[from], results_[to])) insert(links_[from], to);
  });
}

/// Pairs the rank with a free receiver, or with one whose sender finds another. True if it did.
bool Results::find_receiver(Rank from) {
  interruption_point();
  const ConstBits links = links_[from];
  const ConstBits seen = seen_[0];
  const ConstBits taken = taken_[0];
  const Rank free = neediest([&](std::size_t i) { return links[i] & ~seen[i] & ~taken[i]; });
  if (free >= 0) {
    sender_of_[free] = from;
    insert(taken_[0], free);
    return true;
  }
  const auto unseen = [&](std::size_t i) { return links[i] & ~seen[i]; };
  return any_member(links_.words(), unseen, [&](Count to) {
    if (contains(seen, to)) return false;
    insert(seen_[0], to);
    if (!find_receiver(sender_of_[to])) return false;
    sender_of_[to] = from;
    return true;
  });
}

Count Results::rarest(Rank from, Rank to) const {
  const ConstBits mine = results_[from];
  const ConstBits theirs = results_[to];
  Count best = -1;
  const auto lacking = [&](std::size_t i) { return mine[i] & ~theirs[i]; };
  any_member(results_.words(), lacking, [&](Count block) {
    if (best < 0 || held_[block] < held_[best]) best = block;
    return false;
  });
  return best;
}

}  // namespace latecomer::owners
