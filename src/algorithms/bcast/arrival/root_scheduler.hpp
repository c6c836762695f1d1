// The root of an arrival broadcast: who gets the vector from whom. No data, no transport, no clock:
// tests explore it in all orders of events.
//
// Who arrives says so. The first one is fed by the root; it and those who come meanwhile make a
// chain that grows at its end: the root tells the last one of it whom to feed next, and is done
// with the newcomer. The chain ends when the root has sent all to its first one: then the root can
// feed the next one that comes itself, and lets the end of the chain leave. So whoever arrives is
// fed at once, by a rank that has fed nobody yet, and only the root waits for ranks that are
// absent.
//
// With `ahead` the root does not even that: while it feeds no chain it sends to the lowest rank
// that is absent, where messages wait for their receiver. A word before them announces so many at a
// time: the first one that the rank hears lets it receive them. If it comes before it was sent all,
// it begins a chain; or, where the root feeds one by then, the end of that sends what was not
// announced.
#pragma once

#include <optional>
#include <vector>

#include "algorithms/bcast/arrival/feed.hpp"

namespace latecomer::bcast {

class RootScheduler {
 public:
  /// `segments`: 0 for an empty vector.
  /// `ahead`: how many of them it announces at a time to ranks that are absent; 0: none.
  RootScheduler(Rank me, Rank ranks, Count segments, Count ahead);

  Step arrive();
  Step hear(Rank from, Word word);
  Step sent(Rank to);

  /// All have been fed, or are by others.
  [[nodiscard]] bool done() const;
  /// Whom it sends to; -1: it waits for those who are absent.
  [[nodiscard]] Rank feeds() const { return live_ ? live_->to : ahead_ ? ahead_->to : -1; }
  /// The lowest one of them; -1: none.
  [[nodiscard]] Rank absent() const;
  /// All that its future depends on.
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
  std::vector<bool> provided_;  // by rank: somebody feeds it, or has; the root itself
  Rank unprovided_;
  std::vector<Rank> waiting_;  // have arrived before the root
  std::optional<Feed> live_;   // to the first one of the chain that grows
  std::optional<Feed> ahead_;  // to one that is absent
  Count announced_ = 0;        // to that one: all segments before it
  Rank tail_ = -1;             // of the chain
  bool ended_ = false;         // the chain: its tail knows that it is the last one
  Count leaving_ = 0;          // segments to those that others feed now
};

}  // namespace latecomer::bcast
