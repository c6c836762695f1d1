// Ranks with more left to send go first. A rank sends the first of its blocks whose owner is free:
// to the owner, or to a rank that still has its own contribution to this block and clearly less to
// receive than the owner. That evens out the volume that ranks receive, whichever ranks are late. A
// rank whose owners are all busy or absent sends a block to another contributor, so that one
// message less goes to the owner.
#include "algorithms/owners/timetable.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/threads.hpp"
#include "schedule/plan.hpp"

namespace latecomer::owners {

Contributions::Contributions(Count ranks, Count blocks)
    : ranks_(ranks),
      margin_(std::max<Count>(1, blocks / 24)),
      pending_(ranks, blocks),
      contributors_(blocks, ranks),
      owned_(ranks, blocks),
      received_(ranks, blocks),
      open_(1, blocks),
      left_(static_cast<std::size_t>(ranks), blocks),
      missing_(static_cast<std::size_t>(blocks), ranks - 1),
      to_receive_(static_cast<std::size_t>(ranks), blocks),
      busiest_(static_cast<std::size_t>(ranks)),
      heaviest_(static_cast<std::size_t>(blocks)) {
  for (Count block = 0; block < blocks; ++block) share(block);
  std::iota(busiest_.begin(), busiest_.end(), 0);
  std::iota(heaviest_.begin(), heaviest_.end(), 0);
}

void Contributions::share(Count block) {
  interruption_point();
  insert(owned_[owner(block)], block);
  --left_[owner(block)];
  to_receive_[owner(block)] += ranks_ - 1;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (rank == owner(block)) continue;
    insert(pending_[rank], block);
    insert(contributors_[block], rank);
  }
}

bool Contributions::come(Count block) {
  --to_receive_[owner(block)];
  return --missing_[block] == 0;
}

void Contributions::send(FreePorts& ports, std::vector<Hop>& hops) {
  received_.clear();
  std::ranges::stable_sort(busiest_, [&](Rank a, Rank b) { return left_[a] > left_[b]; });
  send_to_owners(ports, hops);
  send_by_others(ports, hops);
}

Hop Contributions::hand_over(Rank from, Rank to, Count block) {
  erase(pending_[from], block);
  erase(contributors_[block], from);
  insert(received_[to], block);
  --left_[from];
  return {.from = from, .to = to, .block = block};
}

void Contributions::mark_blocks_of(ConstBits receivers) {
  open_.clear();
  for_each_member(receivers, [&](Count rank) { unite(open_[0], owned_[rank]); });
}

void Contributions::send_to_owners(FreePorts& ports, std::vector<Hop>& hops) {
  mark_blocks_of(ports.receivers());
  for (const Rank from : busiest_) {
    interruption_point();
    if (!contains(ports.senders(), from)) continue;
    const Count block = first_to_send(from);
    if (block < 0) continue;
    hops.push_back(hand_over(from, receiver(from, block, ports), block));
    ports.take(hops.back());
    subtract(open_[0], owned_[hops.back().to]);
  }
}

/// The first open block whose contribution the rank can send, or -1. Blocks that the rank receives
/// in this round are not combined yet.
Count Contributions::first_to_send(Rank from) const {
  Count first = -1;
  const auto can_send = [&](std::size_t i) {
    return pending_[from][i] & open_[0][i] & ~received_[from][i];
  };
  any_member(open_.words(), can_send, [&](Count block) {
    first = block;
    return true;
  });
  return first;
}

/// The receiver of a contribution: the owner, or the contributor with least to receive among those
/// that can receive it, if that is clearly less.
Rank Contributions::receiver(Rank from, Count block, const FreePorts& ports) const {
  Rank best = owner(block);
  Count least = to_receive_[best] - margin_;
  const auto free = [&](std::size_t i) { return contributors_[block][i] & ports.receivers()[i]; };
  any_member(contributors_.words(), free, [&](Count other) {
    if (other != from && to_receive_[other] < least) {
      best = static_cast<Rank>(other);
      least = to_receive_[other];
    }
    return false;
  });
  return best;
}

/// Lets ranks send each other contributions, first to the blocks that lack most of them.
void Contributions::send_by_others(FreePorts& ports, std::vector<Hop>& hops) {
  bool sorted = false;
  for (const Rank from : busiest_) {
    if (!contains(ports.senders(), from) || left_[from] == 0) continue;
    if (!std::exchange(sorted, true)) {
      std::ranges::stable_sort(heaviest_,
                               [&](Count a, Count b) { return missing_[a] > missing_[b]; });
    }
    const auto hop = relay(from, ports);
    if (!hop) continue;
    hops.push_back(*hop);
    ports.take(*hop);
  }
}

/// A message to the contributor that has least left to send.
std::optional<Hop> Contributions::relay(Rank from, const FreePorts& ports) {
  interruption_point();
  for (const Count block : heaviest_) {
    if (missing_[block] < 2) break;
    if (!contains(pending_[from], block) || contains(received_[from], block)) continue;
    Rank best = -1;
    const auto free = [&](std::size_t i) { return contributors_[block][i] & ports.receivers()[i]; };
    any_member(contributors_.words(), free, [&](Count other) {
      const bool better = best < 0 || left_[other] < left_[best];
      if (other != from && better) best = static_cast<Rank>(other);
      return false;
    });
    if (best >= 0) return hand_over(from, best, block);
  }
  return std::nullopt;
}

// Each rank that can send is matched with a rank that lacks one of its blocks, first with those
// that have fewest blocks, and sends the block that fewest ranks have.

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

// The rounds are filled greedily, contributions before results, since all ranks wait for the
// contributions.

TimetableBuilder::TimetableBuilder(Rank ranks, Count blocks, Combines combines)
    : ranks_(ranks),
      blocks_(blocks),
      combines_(combines),
      all_((combines == Combines::yes ? 2 : 1) * static_cast<std::size_t>(ranks - 1) *
           static_cast<std::size_t>(blocks)),
      present_(1, ranks),
      ports_(ranks),
      contributions_(ranks, combines == Combines::yes ? blocks : 0),
      results_(ranks, blocks) {
  hops_.reserve(all_);
}

void TimetableBuilder::add(Rank rank) {
  insert(present_[0], rank);
  dry_ = false;
  if (combines_ == Combines::yes) return;
  for (Count block = rank; block < blocks_; block += ranks_) results_.finish(block, rank);
}

void TimetableBuilder::fill() {
  interruption_point();
  const std::size_t first = hops_.size();
  ports_.begin(present_[0]);
  if (combines_ == Combines::yes) contributions_.send(ports_, hops_);
  results_.send(ports_, hops_);
  end_round(first);
  dry_ = hops_.size() == first;
  ++round_;
}

void TimetableBuilder::fill_until(Count end) {
  while (round_ < end && !dry_ && !complete()) fill();
  round_ = std::max(round_, end);
}

/// Delivers the hops of the round: no rank sends on in the same round.
void TimetableBuilder::end_round(std::size_t first) {
  for (std::size_t i = first; i < hops_.size(); ++i) {
    Hop& hop = hops_[i];
    hop.round = round_;
    if (hop.final) {
      results_.come(hop.to, hop.block);
      if (combines_ == Combines::yes) contributions_.note_result(hop.to);
    } else if (contributions_.come(hop.block)) {
      results_.finish(hop.block, contributions_.owner(hop.block));
      contributions_.note_result(contributions_.owner(hop.block));
    }
  }
}

Timetable make_timetable(const std::vector<Count>& arrivals, Count blocks, Combines combines) {
  const auto ranks = static_cast<Rank>(arrivals.size());
  TimetableBuilder builder(ranks, blocks, combines);
  const std::vector<Rank> order =
      order_by_arrival(ranks, std::vector<Seconds>(arrivals.begin(), arrivals.end()));
  auto next = order.begin();
  while (!builder.complete()) {
    if (builder.dry() && next != order.end()) builder.skip_to(arrivals[*next]);
    while (next != order.end() && arrivals[*next] == builder.round()) builder.add(*next++);
    builder.fill();
  }
  Timetable table;
  table.rounds = builder.round();
  table.exits.assign(arrivals.size(), 0);
  table.hops = builder.take_hops();
  for (const Hop& hop : table.hops) table.exits[hop.from] = table.exits[hop.to] = hop.round + 1;
  return table;
}

}  // namespace latecomer::owners
