// One rank of an arrival broadcast, the root or another, as the code that carries out its steps
// sees it.
#pragma once

#include <variant>

#include "algorithms/bcast/arrival/forwarder.hpp"
#include "algorithms/bcast/arrival/root_scheduler.hpp"

namespace latecomer::bcast {

/// The facts about the call that all ranks know.
struct Feeding {
  Rank ranks = 1;
  Rank root = 0;
  Count segments = 0;  // not counting empty ones
  Count ahead = 0;     // segments that the root announces at a time to absent ranks; 0: none
};

class ArrivalRank {
 public:
  ArrivalRank(const Feeding& feeding, Rank me) : rank_(made(feeding, me)) {}

  Step arrive() {
    return std::visit([](auto& rank) { return rank.arrive(); }, rank_);
  }
  Step hear(Rank from, Word word) {
    return std::visit([&](auto& rank) { return rank.hear(from, word); }, rank_);
  }
  /// A segment has left.
  Step sent(Rank to) {
    return std::visit([&](auto& rank) { return rank.sent(to); }, rank_);
  }
  /// A segment is here. Never at the root.
  Step received(Count segment) { return std::get<Forwarder>(rank_).received(segment); }
  /// True if it may leave: no other rank needs it any more.
  [[nodiscard]] bool done() const {
    return std::visit([](const auto& rank) { return rank.done(); }, rank_);
  }
  [[nodiscard]] std::vector<Count> state() const {
    return std::visit([](const auto& rank) { return rank.state(); }, rank_);
  }
  /// Null where the rank has the other role.
  [[nodiscard]] const RootScheduler* root() const { return std::get_if<RootScheduler>(&rank_); }
  [[nodiscard]] const Forwarder* fed() const { return std::get_if<Forwarder>(&rank_); }

 private:
  using Role = std::variant<RootScheduler, Forwarder>;

  static Role made(const Feeding& feeding, Rank me) {
    if (me != feeding.root) return Forwarder(feeding.root, feeding.segments);
    return RootScheduler(me, feeding.ranks, feeding.segments, feeding.ahead);
  }

  Role rank_;
};

}  // namespace latecomer::bcast
