// The load of a node's memory: local work of its ranks, which all slows down alike while together
// it needs more than the memory passes.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "protocol/protocol.hpp"
#include "simulate/ticks.hpp"

namespace latecomer {

class MemoryLoad {
 public:
  struct Work {
    Rank rank = 0;
    Token token = 0;
  };

  /// Begins work that alone takes `own` ticks, and `share` of what the memory passes, at most 1.
  void begin(Ticks now, Ticks own, double share, const Work& work);
  /// Returns the work that ends now, the earliest first.
  [[nodiscard]] std::vector<Work> end(Ticks now);
  [[nodiscard]] bool idle() const { return under_way_.empty(); }
  /// The time at which work ends next, unless other work begins before. Not for idle memory.
  [[nodiscard]] Ticks next_end() const;
  /// The number of changes of next_end() so far.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

 private:
  struct UnderWay {
    double end = 0;  // when so many ticks of work were done on each
    std::uint64_t number = 0;
    double share = 0;
    Work work;
    bool operator>(const UnderWay& other) const {
      return end != other.end ? end > other.end : number > other.number;
    }
  };

  [[nodiscard]] double speed() const { return load_ > 1 ? 1 / load_ : 1; }
  void advance(Ticks now);

  std::priority_queue<UnderWay, std::vector<UnderWay>, std::greater<>> under_way_;
  double load_ = 0;  // the sum of the shares
  double done_ = 0;  // ticks of work on each that is under way, from any time on
  Ticks at_ = 0;     // the time that `done_` is for
  std::uint64_t begun_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace latecomer
