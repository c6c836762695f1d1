// Who carries out a call. The decision rests on facts that MPI makes equal on all ranks, but for
// wrong arguments: those it is for the MPI library to refuse.
#pragma once

#include "runtime/call.hpp"
#include "runtime/comm_state.hpp"

namespace latecomer {

enum class Route {
  latecomer,
  native,
  wrong_arguments,
  intercommunicator,
  trivial,
  type,
  needs_commutative,
};

[[nodiscard]] Route route(const CommState& state, const Call& call);

/// The counter of a route in the statistics; null for latecomer's own, which counts when done.
[[nodiscard]] std::uint64_t* counter(latecomer_stats& stats, Route route);

}  // namespace latecomer
