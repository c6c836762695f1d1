// Who carries out a call. The decision rests on facts that MPI makes equal on all ranks, but for
// wrong arguments: those it is for the MPI library to refuse.
#pragma once

#include "runtime/comm_state.hpp"

namespace latecomer {

/// The arguments of MPI_Allreduce.
struct AllreduceArguments {
  const void* sendbuf;
  void* recvbuf;
  Count count;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
  const void* site = nullptr;  // where the program calls from, for reports only

  [[nodiscard]] bool in_place() const { return sendbuf == MPI_IN_PLACE; }
};

enum class Route {
  latecomer,
  native,
  wrong_arguments,
  intercommunicator,
  trivial,
  type,
  needs_commutative,
};

[[nodiscard]] Route route(const CommState& state, const AllreduceArguments& arguments);

/// The counter of a route in the statistics; null for latecomer's own, which counts when done.
[[nodiscard]] std::uint64_t* counter(latecomer_stats& stats, Route route);

}  // namespace latecomer
