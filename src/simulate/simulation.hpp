// The options and the result of a simulated call, whatever network it runs on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/network.hpp"
#include "protocol/protocol.hpp"
#include "protocol/transport.hpp"
#include "simulate/elements.hpp"

namespace latecomer {

struct SimulationOptions {
  Network network;
  std::vector<Seconds> arrivals;  // one per rank; empty: all at 0
  // The nodes, whose ranks share a link. Empty: those whose ranks share memory in the programs or,
  // if none do, Network::per_node consecutive ranks.
  // NOLINTNEXTLINE(readability-redundant-member-init)
  Placement placement = {};
  Count element_bytes = 4;
  ProtocolOptions engine;
  std::vector<Memory>* memory = nullptr;  // one per rank; null: time only
  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::vector<Piggyback*> piggybacks = {};  // one per rank; empty: none
  bool trace = false;
};

/// One transfer of a message or a control message, or (`to` == `from`) one local combine, copy or
/// accumulate (the first one on a flag is a copy), or the flag of a node that rank `from` raised
/// and that ended a wait of rank `to`.
struct TraceEntry {
  enum class Kind : std::uint8_t { message, control, combine, copy, accumulate, flag };
  Kind kind = Kind::message;
  Rank from = 0;
  Rank to = 0;
  Seconds begin = 0;
  Seconds end = 0;
  Seconds taken = 0;  // when `target` is written: after `end` where the receive is posted later
  OpIndex sender_operation = 0;
  OpIndex receiver_operation = 0;
  Slice source;  // of a message: the sender's; of a combine: the left operand
  Slice target;  // of a message: the receiver's; of a combine: the right operand
  Into into = Into::right;
  std::int32_t flag = -1;              // of an accumulate, its first copy, and a wait
  std::vector<std::uint64_t> control;  // the words of a control message
};

struct Simulation {
  std::vector<Seconds> arrivals;
  std::vector<Seconds> exits;     // a negative time: never
  std::string failure;            // of the first rank that failed or is stuck; empty: none
  std::vector<TraceEntry> trace;  // by begin

  [[nodiscard]] Seconds last_exit() const;
  /// The mean over the ranks of exit minus arrival.
  [[nodiscard]] Seconds mean_elapsed() const;
};

/// The protocols of all ranks in one call, by rank.
using Protocols = std::vector<std::unique_ptr<Protocol>>;

/// A simulation with its arrivals and no exits yet. Throws Error if the arrivals do not fit the
/// ranks.
[[nodiscard]] Simulation begin_simulation(std::size_t ranks, const SimulationOptions& options);

/// Notes the first rank that failed or is stuck, unless a failure was noted already.
void note_failures(const Protocols& protocols, Simulation& result);

}  // namespace latecomer
