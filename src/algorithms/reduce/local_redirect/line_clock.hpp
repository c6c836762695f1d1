// When the ranks of a line leave: the line of LineRanks itself, played with the times that words,
// messages and combines take, one port a rank. What a formula would have to say of who merges with
// whom is decided by who comes first.
#pragma once

#include <vector>

#include "algorithms/agenda.hpp"
#include "algorithms/reduce/local_redirect/line_rank.hpp"
#include "base/network.hpp"
#include "schedule/plan.hpp"

namespace latecomer::reduce {

class LineClock {
 public:
  /// `arrivals` by position. `bytes`: of the vector.
  LineClock(const Network& network, Count bytes, const std::vector<Seconds>& arrivals);

  void run();
  /// The last one of the line hands the result to a position that is gone.
  void hand_over(Rank to);
  /// When a position left, in seconds.
  [[nodiscard]] Seconds exit(Rank at) const { return members_[at].exit; }

 private:
  enum class What : std::uint8_t { arrival, word, merged };
  struct Event {
    Seconds when = 0;
    Count number = 0;
    What what = What::arrival;
    Rank from = -1;
    Rank to = -1;
    Word word = {};
  };
  struct Member {
    LineRank rank;
    Seconds exit = 0;
  };

  void follow(const LineRank::Step& step, Rank me, Seconds now);
  void move(Rank from, Rank to, Seconds now);

  Seconds word_;
  Seconds occupancy_;
  Seconds handshake_;
  Seconds combine_;
  bool waits_;  // data leave only when their receiver is ready for them
  std::vector<Member> members_;
  Ports ports_;
  Agenda<Event> events_;
};

// Of a plan of local_redirect: when all arrive together, and the mean of exit minus last arrival.
[[nodiscard]] Seconds line_time(const Plan& plan, const Network& network);
[[nodiscard]] Seconds line_after_last(const Plan& plan, const Network& network,
                                      const std::vector<Seconds>& arrivals);

}  // namespace latecomer::reduce
