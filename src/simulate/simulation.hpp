// The options and the result of a simulated call, whatever network it runs on.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/network.hpp"
#include "protocol/protocol.hpp"
#include "protocol/transport.hpp"
#include "simulate/elements.hpp"
#include "simulate/loads.hpp"

namespace latecomer {

/// The links as the calls before left them.
struct LinksBefore {
  LinkBuckets* buckets = nullptr;  // needed during the call alone; null: all are full
  Placement nodes;                 // of each rank, in `buckets`
  Seconds began = 0;               // time 0 of the call, on the clock of `buckets`
};

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
  // NOLINTNEXTLINE(readability-redundant-member-init)
  LinksBefore links = {};
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

inline constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();

struct Simulation {
  std::vector<Seconds> arrivals;
  std::vector<Seconds> exits;     // kNever: stuck or failed
  std::string failure;            // of the first rank that failed or is stuck; empty: none
  std::vector<TraceEntry> trace;  // by begin

  [[nodiscard]] Seconds last_exit() const { return *std::max_element(exits.begin(), exits.end()); }
  /// The mean over the ranks of exit minus arrival.
  [[nodiscard]] Seconds mean_elapsed() const {
    const Seconds in = std::accumulate(arrivals.begin(), arrivals.end(), 0.0);
    const Seconds out = std::accumulate(exits.begin(), exits.end(), 0.0);
    return (out - in) / static_cast<double>(exits.size());
  }
};

/// The protocols of all ranks in one call, by rank.
using Protocols = std::vector<std::unique_ptr<Protocol>>;

/// A simulation with its arrivals and no exits yet. Throws Error if the arrivals, or the nodes of
/// its links, do not fit the ranks.
[[nodiscard]] inline Simulation begin_simulation(std::size_t ranks,
                                                 const SimulationOptions& options) {
  Simulation result;
  result.arrivals = options.arrivals.empty() ? std::vector<Seconds>(ranks, 0.0) : options.arrivals;
  check_arrivals(result.arrivals, static_cast<Rank>(ranks));
  const auto& [buckets, nodes, began] = options.links;
  if (buckets != nullptr && nodes.size() != ranks) {
    throw Error("nodes", std::to_string(nodes.size()),
                "one for each of " + std::to_string(ranks) + " ranks");
  }
  result.exits.assign(ranks, kNever);
  return result;
}

/// Notes the first rank that failed or is stuck, unless a failure was noted already.
inline void note_failures(const Protocols& protocols, Simulation& result) {
  for (std::size_t rank = 0; rank < protocols.size() && result.failure.empty(); ++rank) {
    const Protocol& protocol = *protocols[rank];
    if (protocol.status() == Status::done) continue;
    const std::string why = protocol.status() == Status::failed
                                ? protocol.failure()
                                : "stuck, waits " + protocol.waiting_for();
    result.failure = "rank " + std::to_string(rank) + ": " + why;
  }
}

}  // namespace latecomer
