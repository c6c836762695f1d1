// Messages and flags, which join the operations of different ranks, and the rules on it.
#pragma once

#include <vector>

#include "verify/words.hpp"

namespace latecomer::verifier {

// Rule matching: the n-th send from a to b belongs to the n-th receive at b from a.

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

// The flags of all nodes, and the operations that count on them. Rule flags: every await of a flag
// asks for all that count on it; a flag belongs to accumulates of one slice or to signals.

/// The flags of all nodes, numbered from 0.
class Flags {
 public:
  explicit Flags(Programs programs);

  [[nodiscard]] std::size_t size() const { return counting_.size(); }
  [[nodiscard]] std::uint32_t number(const Program& program, std::int32_t flag) const {
    return first_[static_cast<std::size_t>(program.node)] + static_cast<std::uint32_t>(flag);
  }
  /// The signals and accumulates on a flag, by rank and in program order.
  [[nodiscard]] const std::vector<Step>& counting(std::uint32_t number) const {
    return counting_[number];
  }

 private:
  std::vector<std::uint32_t> first_;  // the number of each node's first flag
  std::vector<std::vector<Step>> counting_;
};

/// "flag 3 of node 0"
[[nodiscard]] std::string flag_text(const Program& program, std::int32_t flag);

[[nodiscard]] Finding check_flags(Programs programs, const Flags& flags);

}  // namespace latecomer::verifier
