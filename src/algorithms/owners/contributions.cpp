// Ranks with more left to send go first. A rank sends the first of its blocks whose owner is free:
// to the owner, or to a rank that still has its own contribution to this block and clearly less to
// receive than the owner. That evens out the volume that ranks receive, whichever ranks are late. A
// rank whose owners are all busy or absent sends a block to another contributor, so that one
// message less goes to the owner.
#include "algorithms/owners/contributions.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/threads.hpp"

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

}  // namespace latecomer::owners
