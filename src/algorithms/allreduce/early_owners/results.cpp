// While fewer than half the ranks have a block it is young, and all who have it send it on: the
// last block that becomes final needs ceil(log2 P) rounds. Such a rank is on duty: it should not be
// given another young block, of which it could send only one. Who is free after that is matched
// with whoever lacks something that it has, rare blocks first.
#include "algorithms/allreduce/early_owners/results.hpp"

#include <algorithm>

namespace latecomer::allreduce {

Results::Results(Count ranks, Count blocks)
    : ranks_(ranks),
      results_(ranks, blocks),
      holders_(blocks, ranks),
      duty_(1, ranks),
      before_(1, ranks),
      links_(ranks, ranks),
      seen_(1, ranks),
      taken_(1, ranks),
      held_(static_cast<std::size_t>(blocks), 0),
      complete_(static_cast<std::size_t>(ranks), 0),
      sender_of_(static_cast<std::size_t>(ranks), -1) {}

void Results::finish(Count block, Rank owner) {
  unfinished_.push_back(block);
  insert(holders_[block], owner);
  held_[block] = 1;
  come(owner, block);
}

void Results::come(Rank rank, Count block) {
  insert(results_[rank], block);
  ++complete_[rank];
}

void Results::end_round() {
  std::erase_if(unfinished_, [&](Count block) { return held_[block] == ranks_; });
}

void Results::send(FreePorts& ports, const std::vector<Rank>& order, std::vector<Hop>& hops) {
  if (unfinished_.empty()) return;
  std::ranges::stable_sort(unfinished_, [&](Count a, Count b) { return held_[a] < held_[b]; });
  const auto old = std::ranges::find_if(unfinished_, [&](Count block) { return !young(block); });
  const std::vector<Count> multiplied(unfinished_.begin(), old);
  duty_.clear();
  for (const Count block : multiplied) unite(duty_[0], holders_[block]);
  for (const Count block : multiplied) multiply(block, ports, hops);
  match(ports, order, hops);
}

Hop Results::give(Rank from, Rank to, Count block) {
  insert(holders_[block], to);
  ++held_[block];
  return {from, to, block, true};
}

/// All who have the young block send it on.
void Results::multiply(Count block, FreePorts& ports, std::vector<Hop>& hops) {
  std::ranges::copy(holders_[block], before_[0].begin());
  for_each_member(before_[0], [&](Count from) {
    if (!contains(ports.senders(), from)) return;
    const Rank to = find_newcomer(block, ports.receivers());
    if (to < 0) return;
    insert(duty_[0], to);
    hops.push_back(give(static_cast<Rank>(from), to, block));
    ports.take(hops.back());
  });
}

/// Rather one that is not on duty.
Rank Results::find_newcomer(Count block, ConstBits receivers) const {
  const ConstBits holders = holders_[block];
  const ConstBits duty = duty_[0];
  const Rank idle = neediest([&](std::size_t i) { return receivers[i] & ~holders[i] & ~duty[i]; });
  return idle >= 0 ? idle : neediest([&](std::size_t i) { return receivers[i] & ~holders[i]; });
}

template <class WordAt>
Rank Results::neediest(const WordAt& word) const {
  Rank best = -1;
  any_member(holders_.words(), word, [&](Count rank) {
    if (best < 0 || complete_[rank] < complete_[best]) best = static_cast<Rank>(rank);
    return false;
  });
  return best;
}

/// Kuhn's algorithm: as many more pairs as there can be.
void Results::match(FreePorts& ports, const std::vector<Rank>& order, std::vector<Hop>& hops) {
  std::ranges::fill(sender_of_, -1);
  taken_.clear();
  for_each_member(ports.senders(),
                  [&](Count from) { link(static_cast<Rank>(from), ports.receivers()); });
  for (const Rank from : order) {
    if (!contains(ports.senders(), from)) continue;
    seen_.clear();
    find_receiver(from);
  }
  for_each_member(taken_[0], [&](Count to) {
    const Rank from = sender_of_[to];
    hops.push_back(give(from, static_cast<Rank>(to), rarest(from, static_cast<Rank>(to))));
    ports.take(hops.back());
  });
}

/// To whom it could send something.
void Results::link(Rank from, ConstBits receivers) {
  std::ranges::fill(links_[from], 0);
  for_each_member(receivers, [&](Count to) {
    if (!within(results_[from], results_[to])) insert(links_[from], to);
  });
}

/// A free receiver, or one whose sender finds another one.
bool Results::find_receiver(Rank from) {
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

}  // namespace latecomer::allreduce
