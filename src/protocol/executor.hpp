// An executor: executes one rank's part of one plan, by a program or by a state machine that
// decides while it runs. The caller sees no difference.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/protocol.hpp"
#include "schedule/program.hpp"

namespace latecomer {

struct ProtocolOptions {
  std::uint32_t window = 64;           // requests in flight per peer and direction
  bool combine_before_arrival = true;  // false for user operators: they stay off the thread
};

/// The meaning of a control message, for people.
struct ControlMeaning {
  /// A rank that takes part from a round on.
  struct Entry {
    Rank rank = 0;
    Count round = 0;
  };
  std::string name;             // one word; empty: unknown
  std::optional<Rank> rank;     // a rank that it names
  std::optional<Count> number;  // a round or a segment that it names
  std::vector<Entry> entries;
};

class Executor {
 public:
  virtual ~Executor() = default;

  /// The plan's hash, this rank, and the sizes of its buffers.
  [[nodiscard]] virtual const RankContext& context() const = 0;
  /// Creates the protocol for one call. The executor and the transport must outlive it.
  [[nodiscard]] virtual std::unique_ptr<Protocol> create_protocol(
      Transport& transport, const ProtocolOptions& options) const = 0;
  /// The meaning of a control message that a rank of the same plan sent.
  [[nodiscard]] virtual ControlMeaning meaning(ControlWords /*words*/) const { return {}; }
};

/// The executors of all ranks, by rank.
using Executors = std::vector<std::unique_ptr<Executor>>;

}  // namespace latecomer
