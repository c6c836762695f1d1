// The rounds are filled greedily, contributions before results, since all ranks wait for the
// contributions (contributions.cpp, results.cpp).
#include "algorithms/owners/timetable.hpp"

#include <algorithm>

#include "base/threads.hpp"
#include "schedule/plan.hpp"

namespace latecomer::owners {

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
