// When the ranks of an arrival broadcast leave: the ArrivalRanks themselves, played with the times
// that words and segments take, one port a rank.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "algorithms/agenda.hpp"
#include "algorithms/bcast/arrival/arrival_rank.hpp"
#include "base/network.hpp"

namespace latecomer::bcast {

class ArrivalClock {
 public:
  /// `bytes`: of a segment.
  ArrivalClock(const Network& network, Count bytes, const Feeding& feeding,
               const std::vector<Seconds>& arrivals);

  void run();
  /// When a rank left, in seconds.
  [[nodiscard]] Seconds exit(Rank rank) const {
    return members_[static_cast<std::size_t>(rank)].exit;
  }

 private:
  enum class What : std::uint8_t { arrival, word, ready, sent, landed };
  struct Event {
    Seconds when = 0;
    Count number = 0;
    What what = What::arrival;
    Rank from = -1;
    Rank to = -1;
    Word word = {};
    Count segment = 0;
  };
  struct Member {
    ArrivalRank rank;
    Seconds exit = -1;  // before it has left
  };
  /// What one side of a transfer has posted, or what has landed, before the other side came.
  using Halves = std::map<std::pair<Rank, Count>, Rank>;  // receiver and segment: sender

  [[nodiscard]] Member& member(Rank rank) { return members_[static_cast<std::size_t>(rank)]; }
  void happen(const Event& event);
  void follow(const Step& step, Rank me, Seconds now);
  void move(Rank from, Rank to, Count segment, Seconds now);
  /// The other side came first.
  bool meets(Rank from, Rank to, Count segment);
  void both(Rank from, Rank to, Count segment, Seconds now);

  Seconds word_;
  Seconds segment_;
  Seconds handshake_;
  bool waits_;  // segments leave only when their receiver is ready for them
  std::vector<Member> members_;
  Ports ports_;
  Agenda<Event> events_;
  Halves halves_;
};

}  // namespace latecomer::bcast
