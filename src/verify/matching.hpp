// Rule matching: the n-th send from a to b belongs to the n-th receive at b from a.
#pragma once

#include <vector>

#include "verify/words.hpp"

namespace latecomer::verifier {

/// The messages of one rank to or from one peer, in program order.
struct Channel {
  OpKind kind;  // send or recv
  Rank peer;
  std::vector<OpIndex> operations;
};

/// All messages of a set of programs, and the partner of each.
struct Messages {
  std::vector<std::vector<Channel>> channels;          // per rank
  std::vector<std::vector<std::uint32_t>> channel_of;  // per rank and operation; only of messages
  std::vector<std::vector<OpIndex>> partner;           // per rank and operation; only of messages
};

[[nodiscard]] Finding check_matching(Programs programs, Messages& messages);

}  // namespace latecomer::verifier
