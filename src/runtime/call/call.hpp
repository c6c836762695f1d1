// The arguments of one collective call.
#pragma once

#include <optional>

#include "schedule/problem.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// In place of the counts of an all-gather whose parts differ, where there are none.
inline constexpr int kNoCounts[] = {0};

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
  const void* site = nullptr;       // where the program calls from, for reports only
  const int* recvcounts = nullptr;  // of parts that differ, in place of recvcount ...
  const int* displs = nullptr;      // ... and where they are, in elements of recvtype

  [[nodiscard]] bool in_place() const { return sendbuf == MPI_IN_PLACE || recvbuf == MPI_IN_PLACE; }
  /// The MPI library's own collective, with the same arguments. Returns MPI's code.
  [[nodiscard]] int native() const;
};

/// Whether the arguments are such that the MPI library is to refuse them.
[[nodiscard]] bool wrong(const Call& call, Rank ranks, Rank me);

/// What the arguments ask for. They must not be wrong. Where data are only moved, elements are
/// bytes: ranks may describe them by different datatypes.
[[nodiscard]] Problem problem_of(const Call& call, Rank ranks, Rank me);

/// Both at once: nothing if the arguments are wrong.
[[nodiscard]] std::optional<Problem> checked_problem_of(const Call& call, Rank ranks, Rank me);

}  // namespace latecomer
