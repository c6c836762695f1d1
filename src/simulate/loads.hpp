// The loads of links and of memory that ranks share, in ticks of the simulation's clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <string_view>
#include <vector>

#include "base/network.hpp"
#include "base/types.hpp"
#include "protocol/protocol.hpp"

namespace latecomer {

// The clock of simulations, which counts picoseconds.

using Ticks = std::int64_t;

inline constexpr std::string_view kTransfer = "time of a message (alpha + bytes x beta)";

/// Throws Error naming `what` beyond a million seconds either way: sums have room, up to the end of
/// the clock.
[[nodiscard]] Ticks to_ticks(std::string_view what, Seconds seconds);
[[nodiscard]] Seconds to_seconds(Ticks ticks);
/// Throws Error at the end of the clock.
[[nodiscard]] Ticks later(Ticks time, Ticks by);

/// A direction of a link that passes some bytes at once after a rest (Network::burst).
class TokenBucket {
 public:
  /// The bytes that both directions still pass at once, of a message that starts now. The rest uses
  /// up all tokens that return meanwhile.
  static double take(TokenBucket& out, TokenBucket& in, const Network& network, Ticks now,
                     double bytes) {
    if (network.burst == 0 || network.beta == 0) return 0;
    const double at_once = std::min({out.left(network, now), in.left(network, now), bytes});
    const Ticks shaped = to_ticks(kTransfer, network.beta * (bytes - at_once));
    for (TokenBucket* const bucket : {&out, &in}) {
      bucket->spent_ += at_once;
      bucket->until_ = later(bucket->until_, shaped);
    }
    return at_once;
  }
  /// The same, whose times count from so much later.
  [[nodiscard]] TokenBucket counted_from(Ticks later) const {
    TokenBucket bucket = *this;
    bucket.until_ = std::max(until_ - later, kLongAgo);
    return bucket;
  }

 private:
  /// The bytes that are left, after adding those that returned at the link's rate.
  double left(const Network& network, Ticks now) {
    const Ticks rested = std::max<Ticks>(0, now - until_);
    spent_ = std::max(0.0, spent_ - to_seconds(rested) / network.beta);
    until_ = std::max(until_, now);
    return static_cast<double>(network.burst) - spent_;
  }

  static constexpr Ticks kLongAgo = -1'000'000'000'000'000'000;  // before any call and message

  double spent_ = 0;        // bytes missing from the burst
  Ticks until_ = kLongAgo;  // when the last message has passed
};

/// The buckets of nodes' links as calls and messages leave them to the next call. Times of calls
/// may overlap, since what was spent is never more than the burst.
class LinkBuckets {
 public:
  struct Link {
    TokenBucket out;
    TokenBucket in;
  };

  /// All full. Throws Error for less than no nodes.
  explicit LinkBuckets(std::int64_t nodes);

  /// Throws Error if it is none of the nodes.
  [[nodiscard]] Link& at(std::int64_t node);
  /// A message between two nodes. Throws as at().
  void pass(const Network& network, std::int64_t from, std::int64_t to, Seconds at, double bytes);

 private:
  std::vector<Link> links_;
};

/// Local work, as each rank does one at a time: seconds a byte, and the part of what the memory of
/// its node passes, 0 within a rank's own memory. Copies there count as nothing.
struct LocalWork {
  Seconds per_byte = 0;
  double share = 0;
};
[[nodiscard]] inline LocalWork local_work(const Network& network, bool copies, bool shared) {
  const Seconds memory = shared ? network.memory : 0;
  const Seconds own = !copies ? network.gamma : shared ? network.local_beta : 0;
  return {std::max(own, memory), memory > 0 ? memory / std::max(own, memory) : 0};
}

/// The load of a node's memory: local work of its ranks, which all slows down alike while together
/// it needs more than the memory passes.
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
