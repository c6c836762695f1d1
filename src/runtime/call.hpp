// The arguments of one collective call.
#pragma once

#include <functional>

#include "schedule/problem.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// As MPI names them. Counts are those of one rank's part where the vector is in parts, of all of
/// it elsewhere; a broadcast's buffer is both `sendbuf` and `recvbuf`.
struct Call {
  Collective collective = Collective::allreduce;
  const void* sendbuf = nullptr;
  Count sendcount = 0;
  MPI_Datatype sendtype = MPI_DATATYPE_NULL;
  void* recvbuf = nullptr;
  Count recvcount = 0;
  MPI_Datatype recvtype = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  Rank root = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  const void* site = nullptr;        // where the program calls from, for reports only
  std::function<int()> native = {};  // the MPI library's own, with the same arguments
  const int* recvcounts = nullptr;   // of parts that differ, in place of recvcount ...
  const int* displs = nullptr;       // ... and where they are, in elements of recvtype

  [[nodiscard]] bool in_place() const { return sendbuf == MPI_IN_PLACE || recvbuf == MPI_IN_PLACE; }
};

/// Whether the arguments are such that the MPI library is to refuse them.
[[nodiscard]] bool wrong(const Call& call, Rank ranks, Rank me);

/// What the arguments ask for. They must not be wrong. Where data are only moved, elements are
/// bytes: ranks may describe them by different datatypes.
[[nodiscard]] Problem problem_of(const Call& call, Rank ranks, Rank me);

}  // namespace latecomer
