// The cost parameters of a network: Hockney's alpha and beta, gamma for combining, and the
// eager limit above which a transfer waits for its receiver.
#pragma once

#include <string>
#include <string_view>

#include "base/types.hpp"

namespace latecomer {

struct Network {
  Seconds alpha = 50e-6;      // start-up of one message; occupies both ports
  Seconds beta = 8e-9;        // per byte on a link
  Seconds gamma = 0.1e-9;     // per byte combined
  Count eager_limit = 65536;  // bytes; a longer message needs a posted receive (rendezvous)
  Seconds handshake = 0;      // a rendezvous' request and answer; occupies no port
  Count ports = 1;            // transfers a rank can send, and receive, at the same time
  double jitter = 0;          // a transfer takes up to this fraction longer, at random
  std::uint64_t seed = 1;     // of the jitter

  /// One message on an idle link.
  [[nodiscard]] Seconds transfer(Count bytes) const {
    return alpha + beta * static_cast<double>(bytes) + (bytes > eager_limit ? handshake : 0);
  }
  [[nodiscard]] Seconds combining(Count bytes) const { return gamma * static_cast<double>(bytes); }
  bool operator==(const Network&) const = default;
};

/// Reads "alpha=50us,beta=8ns,gamma=0.1ns,eager=64KiB,handshake=0us,ports=1,jitter=0.1,seed=1";
/// what is not named keeps its default. Throws Error naming the part that cannot be read.
[[nodiscard]] Network parse_network(std::string_view text);
[[nodiscard]] std::string to_string(const Network& network);

}  // namespace latecomer
