// Who has most left to send goes first, to the owner of the first of its blocks whose owner is
// free. Whose owners are all busy hands a block to another rank that still has its own contribution
// to send, so that one message less goes to the owner.
#include "algorithms/allreduce/early_owners/contributions.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/interruption.hpp"

namespace latecomer::allreduce {

Contributions::Contributions(const std::vector<Count>& arrivals, const std::vector<Rank>& owners)
    : owners_(owners),
      ranks_(static_cast<Count>(arrivals.size())),
      pending_(ranks_, static_cast<Count>(owners.size())),
      contributors_(static_cast<Count>(owners.size()), ranks_),
      owned_(ranks_, static_cast<Count>(owners.size())),
      received_(ranks_, static_cast<Count>(owners.size())),
      open_(1, static_cast<Count>(owners.size())),
      takers_(1, ranks_),
      busy_(1, ranks_),
      not_later_(ranks_, ranks_),
      left_(arrivals.size(), static_cast<Count>(owners.size())),
      missing_(owners.size(), ranks_ - 1),
      busiest_(arrivals.size()),
      heaviest_(owners.size()) {
  for (std::size_t block = 0; block < owners.size(); ++block) share(static_cast<Count>(block));
  for (Rank rank = 0; rank < ranks_; ++rank) compare(rank, arrivals);
  std::iota(busiest_.begin(), busiest_.end(), 0);
  std::iota(heaviest_.begin(), heaviest_.end(), 0);
}

void Contributions::share(Count block) {
  interruption_point();
  const Rank owner = owners_[block];
  insert(owned_[owner], block);
  --left_[owner];
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (rank == owner) continue;
    insert(pending_[rank], block);
    insert(contributors_[block], rank);
  }
}

void Contributions::compare(Rank rank, const std::vector<Count>& arrivals) {
  interruption_point();
  if (left_[rank] > 0) insert(busy_[0], rank);
  for (Rank other = 0; other < ranks_; ++other) {
    if (other != rank && arrivals[other] <= arrivals[rank]) insert(not_later_[rank], other);
  }
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
  if (--left_[from] == 0) erase(busy_[0], from);
  return {from, to, block, false};
}

void Contributions::mark_blocks_of(ConstBits receivers) {
  open_.clear();
  for_each_member(receivers, [&](Count rank) { unite(open_[0], owned_[rank]); });
}

void Contributions::send_to_owners(FreePorts& ports, std::vector<Hop>& hops) {
  mark_blocks_of(ports.receivers());
  for (const Rank from : busiest_) {
    if (!contains(ports.senders(), from)) continue;
    const Count block = first_common(pending_[from], open_[0]);
    if (block < 0) continue;
    const Rank owner = owners_[block];
    hops.push_back(hand_over(from, owner, block));
    ports.take(hops.back());
    subtract(open_[0], owned_[owner]);
  }
}

/// To ranks that are not later, which have less to do; first the blocks of which most is missing.
void Contributions::send_by_others(FreePorts& ports, std::vector<Hop>& hops) {
  bool sorted = false;
  for (const Rank from : busiest_) {
    const bool may_send = contains(ports.senders(), from) && contains(busy_[0], from);
    if (!may_send || !find_takers(from, ports)) continue;
    if (!std::exchange(sorted, true)) {
      std::ranges::stable_sort(heaviest_,
                               [&](Count a, Count b) { return missing_[a] > missing_[b]; });
    }
    const auto hop = relay(from);
    if (!hop) continue;
    hops.push_back(*hop);
    ports.take(*hop);
  }
}

/// The ranks that may be handed a block, if there are any.
bool Contributions::find_takers(Rank from, const FreePorts& ports) {
  Word any = 0;
  for (std::size_t i = 0; i < takers_.words(); ++i) {
    takers_[0][i] = ports.receivers()[i] & busy_[0][i] & not_later_[from][i];
    any |= takers_[0][i];
  }
  return any != 0;
}

std::optional<Hop> Contributions::relay(Rank from) {
  interruption_point();
  for (const Count block : heaviest_) {
    if (missing_[block] < 2) break;
    // What it receives in this round is not combined yet.
    if (!contains(pending_[from], block) || contains(received_[from], block)) continue;
    const Count to = first_common(contributors_[block], takers_[0]);
    if (to >= 0) return hand_over(from, static_cast<Rank>(to), block);
  }
  return std::nullopt;
}

}  // namespace latecomer::allreduce
