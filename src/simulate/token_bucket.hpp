// A direction of a link that passes some bytes at once after a rest (Network::burst).
#pragma once

#include <algorithm>

#include "base/network.hpp"
#include "simulate/ticks.hpp"

namespace latecomer {

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

 private:
  /// The bytes that are left, after adding those that returned at the link's rate.
  double left(const Network& network, Ticks now) {
    const Ticks rested = std::max<Ticks>(0, now - until_);
    spent_ = std::max(0.0, spent_ - to_seconds(rested) / network.beta);
    until_ = std::max(until_, now);
    return static_cast<double>(network.burst) - spent_;
  }

  double spent_ = 0;  // bytes missing from the burst
  Ticks until_ = 0;   // when the last message has passed
};

}  // namespace latecomer
