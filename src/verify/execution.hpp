// Rule deadlock: runs the programs of all ranks against each other. A message moves once both its
// send and its receive are posted (rendezvous: no send may count on a buffer at the receiver), and
// each rank posts in program order per peer and direction, a bounded number at a time. An await is
// done once its flag has counted so far.
//
// The arrivals, and the choice of the ready operation that runs first, do not matter: an operation
// that runs never takes the right to run from another (flags only count up), so every run ends with
// the same operations done. The window does not matter either: message n of a channel moves once
// both its ends are posted, and they are posted only after the ends of message n - 1, so a window
// of 1 holds back no message that could have moved. The check runs with a window of 1 all the same
// and says if a larger one would help, so that it stays right if the posting order ever becomes
// laxer. Receives are posted in the strictest order that the engine knows: from one peer at a time,
// in program order, as long messages are. Without this order more may move; the check says if that
// would help.
#pragma once

#include <vector>

#include "verify/messages.hpp"

namespace latecomer::verifier {

inline constexpr std::uint32_t kUnbounded = ~std::uint32_t{0};

/// The operations that the programs carry out before they end or are stuck.
struct Execution {
  std::vector<Step> steps;              // in an order that keeps all dependencies
  std::vector<std::vector<bool>> done;  // per rank and operation
  bool complete = false;
};

struct Posting {
  std::uint32_t window = 1;  // requests in flight per peer and direction
  bool one_peer = true;      // receives only from the peer of the first one that is not done
};

[[nodiscard]] Execution execute(Programs programs, const Messages& messages,
                                const Posting& posting);

[[nodiscard]] Finding check_deadlock(Programs programs, const Messages& messages,
                                     Execution& execution);

}  // namespace latecomer::verifier
