// The cost parameters of a network: Hockney's alpha and beta, gamma for combining, the eager limit
// above which a transfer waits for its receiver, and how ranks share the links of nodes.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "base/types.hpp"

namespace latecomer {

struct Network {
  Seconds alpha = 50e-6;       // start-up of one message; occupies both ports
  Seconds beta = 8e-9;         // per byte on a link
  Seconds gamma = 0.1e-9;      // per byte combined
  Count eager_limit = 65536;   // bytes; a longer message needs a posted receive (rendezvous)
  Count buffer = 0;            // bytes of shorter ones to one rank that a sender need not wait for
  Seconds handshake = 0;       // a rendezvous' request and answer; occupies no port
  Count ports = 1;             // transfers a node can send, and receive, at the same time
  double exchange = 1;         // rendezvous both ways between two ranks take this many times longer
  Rank per_node = 1;           // consecutive ranks that share a node's link
  Seconds local_alpha = 1e-6;  // between ranks of a node, each with ports of its own
  Seconds local_beta = 0.1e-9;  // also of copies from and to the memory that a node's ranks share
  Seconds memory = 0;           // per byte that a node's ranks copy and combine there, all together
  Count burst = 0;              // bytes that a link passes at once after a rest (a token bucket's)
  double jitter = 0;            // a transfer takes up to this fraction longer, at random
  std::uint64_t seed = 1;       // of the jitter

  /// The time that a message occupies an idle link between nodes.
  [[nodiscard]] Seconds occupancy(Count bytes) const {
    return alpha + beta * static_cast<double>(bytes);
  }
  /// The occupancy plus the handshake that the message may need first.
  [[nodiscard]] Seconds transfer(Count bytes) const {
    return occupancy(bytes) + (bytes > eager_limit ? handshake : 0);
  }
  /// The time of a message between two ranks that send each other one at the same time.
  [[nodiscard]] Seconds exchanging(Count bytes) const {
    const bool slower = bytes > eager_limit;
    return slower ? handshake + exchange * occupancy(bytes) : occupancy(bytes);
  }
  /// The time that each of many messages occupies a link that they follow each other on. While a
  /// message starts up the token bucket fills, and the link then passes as many bytes at once.
  [[nodiscard]] Seconds following(Count bytes) const {
    const Seconds filled = std::min(alpha, beta * static_cast<double>(burst));
    return alpha + std::max(0.0, beta * static_cast<double>(bytes) - filled);
  }
  /// The time that the burst saves a rank that sends so many bytes in a call on a rested link.
  [[nodiscard]] Seconds saved(Count bytes) const {
    return beta * static_cast<double>(std::min(bytes, burst));
  }
  [[nodiscard]] Seconds combining(Count bytes) const { return gamma * static_cast<double>(bytes); }
  /// The elements of the longest message whose receive may be posted early: with several ports, any
  /// message.
  [[nodiscard]] Count eager_elements(Count element_bytes) const {
    return ports > 1 ? std::numeric_limits<Count>::max() : eager_limit / element_bytes;
  }
  [[nodiscard]] Rank node(Rank rank) const { return rank / per_node; }
  bool operator==(const Network&) const = default;
};

/// Reads "alpha=50us,beta=8ns,gamma=0.1ns,eager=64KiB,buffer=0,handshake=0us,ports=1,exchange=1,
/// per_node=1,local_alpha=1us,local_beta=0.1ns,memory=0ns,burst=0,jitter=0.1,seed=1"; parameters
/// that are not named keep their defaults. Throws Error naming the part that cannot be read.
[[nodiscard]] Network parse_network(std::string_view text);
[[nodiscard]] std::string to_string(const Network& network);

}  // namespace latecomer
