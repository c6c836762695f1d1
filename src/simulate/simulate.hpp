// Runs one call of all ranks, programs or other protocols, over a virtual-time network: alpha,
// beta, gamma, ports that send and receive at the same time, eager and rendezvous transfers, late
// ranks and seeded jitter. Deterministic: time is counted in whole picoseconds, and what happens at
// the same time is ordered by rank and program.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/network.hpp"
#include "engine/program_party.hpp"
#include "protocol/courier.hpp"
#include "protocol/party.hpp"
#include "simulate/memory.hpp"

namespace latecomer {

struct SimulationOptions {
  Network network;
  std::vector<Seconds> arrivals;  // one a rank; empty: all at 0
  Count element_bytes = 4;
  ProtocolOptions engine;
  std::vector<Memory>* memory = nullptr;  // one a rank; null: time only
  std::vector<Courier*> couriers;         // one a rank; empty: nothing travels along
  bool trace = false;
};

/// One transfer of a message, or (`to` == `from`) one local combine or copy.
struct TraceEntry {
  Rank from = 0;
  Rank to = 0;
  Seconds begin = 0;
  Seconds end = 0;
  OpIndex sender_operation = 0;
  OpIndex receiver_operation = 0;
};

struct Simulation {
  std::vector<Seconds> arrivals;
  std::vector<Seconds> exits;  // a negative time: never
  std::string failure;         // of the first rank that failed or is stuck; empty: none
  std::vector<TraceEntry> trace;

  [[nodiscard]] Seconds last_exit() const;
  /// Mean over the ranks of exit minus arrival.
  [[nodiscard]] Seconds mean_elapsed() const;
};

/// Throws Error if the arrivals do not fit the ranks, for arrivals, messages and combining of more
/// than 1e6 seconds, and where the call does not end within 8e6 seconds. A rank that gets stuck is
/// no exception but a result.
[[nodiscard]] Simulation simulate(const Parties& parties, const SimulationOptions& options);
/// The same of programs that are at hand.
[[nodiscard]] Simulation simulate(std::span<const Program> programs,
                                  const SimulationOptions& options);

}  // namespace latecomer
