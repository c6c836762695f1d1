// The root of an arrival broadcast, which decides from which rank each rank gets the vector. It has
// no data, no transport and no clock: tests explore it in all orders of events.
//
// Each rank tells the root that it has arrived. The root feeds the first one. This rank and those
// that arrive meanwhile make a chain that grows at its end: the root tells the last rank of the
// chain which newcomer to feed, and need not serve the newcomer itself. The chain ends when the
// root has sent all to its first rank: then the root can feed the next newcomer itself, and lets
// the end of the chain leave. So each rank is fed as soon as it arrives, by a rank that has fed no
// other yet, and only the root waits for absent ranks.
//
// With `ahead` the root does not wait either: while it feeds no chain, it sends to the lowest
// absent rank, where messages wait for their receiver. A word before them announces so many
// segments at a time: the first such word lets the rank receive them. If the rank arrives before it
// was sent all, it begins a chain; or, where the root feeds another chain by then, the end of that
// chain sends the segments that were not announced.
#pragma once

#include <optional>
#include <vector>

#include "algorithms/bcast/arrival/feed.hpp"

namespace latecomer::bcast {

class RootScheduler {
 public:
  /// `segments`: 0 for an empty vector.
  /// `ahead`: the number of segments that it announces at a time to absent ranks; 0: none.
  RootScheduler(Rank me, Rank ranks, Count segments, Count ahead);

  Step arrive();
  Step hear(Rank from, Word word);
  Step sent(Rank to);

  /// True if all ranks have been fed, or are fed by others.
  [[nodiscard]] bool done() const;
  /// The rank to which it sends; -1: it waits for absent ranks.
  [[nodiscard]] Rank feeds() const { return live_ ? live_->to : ahead_ ? ahead_->to : -1; }
  /// The lowest absent rank; -1: none.
  [[nodiscard]] Rank absent() const;
  /// All numbers on which its future steps depend.
  [[nodiscard]] std::vector<Count> state() const;

 private:
  void begin_chain(const Feed& feed, Step& step);
  void append(Rank rank, Count segment, Step& step);
  void end_chain(Step& step);
  void send_ahead(Feed& ahead, Step& step);
  void meet(Feed begun, Step& step);
  static void let_go(Rank rank, Step& step);
  void provide(Rank rank);
  void serve(Step& step);
  void tell_if_all_have_come(Step& step);

  Count segments_;
  Count at_a_time_;
  bool arrived_ = false;
  std::vector<bool> provided_;  // by rank: a rank feeds it, or has; true of the root
  Rank unprovided_;
  std::vector<Rank> waiting_;  // ranks that arrived before the root
  std::optional<Feed> live_;   // to the first one of the chain that grows
  std::optional<Feed> ahead_;  // to an absent rank
  Count announced_ = 0;        // to that rank: all segments before it
  Rank tail_ = -1;             // of the chain
  bool ended_ = false;         // the chain's tail knows that it is the last
  Count leaving_ = 0;          // segments on their way to ranks that other ranks feed now
};

}  // namespace latecomer::bcast
