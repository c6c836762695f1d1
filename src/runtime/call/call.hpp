// The arguments of one collective call.
#pragma once

#include <optional>
#include <vector>

#include "schedule/problem.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// Stands for the counts of an all-gather with parts of different lengths, if there are none.
inline constexpr int kNoCounts[] = {0};

/// The arguments as MPI names them. Counts are those of one rank's part if the vector has parts,
/// otherwise of the whole vector; a broadcast's buffer is both `sendbuf` and `recvbuf`.
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
  const void* site = nullptr;                   // where the program calls from, for reports only
  const int* recvcounts = nullptr;              // of parts that differ, in place of recvcount ...
  const int* displs = nullptr;                  // ... and where they are, in elements of recvtype
  const MPI_Count* large_recvcounts = nullptr;  // the same, in place of these two
  const MPI_Aint* large_displs = nullptr;

  [[nodiscard]] bool parts_differ() const {
    return recvcounts != nullptr || large_recvcounts != nullptr;
  }
  [[nodiscard]] Count part_count(Rank rank) const {
    return large_recvcounts != nullptr ? large_recvcounts[rank] : recvcounts[rank];
  }
  [[nodiscard]] Count part_begin(Rank rank) const {
    return large_displs != nullptr ? large_displs[rank] : displs[rank];
  }

  [[nodiscard]] bool in_place() const { return sendbuf == MPI_IN_PLACE || recvbuf == MPI_IN_PLACE; }
  /// The datatype of the elements of the problem.
  [[nodiscard]] MPI_Datatype element() const;
  /// Executes the MPI library's own collective with these arguments. Returns MPI's code.
  [[nodiscard]] int native() const;
};

/// The MPI library's own collectives, as calls reach them. A drop-in library puts the functions of
/// other tools here, which count or time calls themselves and then call PMPI.
struct NativeCalls {
  decltype(&PMPI_Allreduce) allreduce = PMPI_Allreduce;
  decltype(&PMPI_Reduce) reduce = PMPI_Reduce;
  decltype(&PMPI_Bcast) bcast = PMPI_Bcast;
  decltype(&PMPI_Allgather) allgather = PMPI_Allgather;
  decltype(&PMPI_Allgatherv) allgatherv = PMPI_Allgatherv;
  decltype(&PMPI_Gather) gather = PMPI_Gather;
  decltype(&PMPI_Scatter) scatter = PMPI_Scatter;
  decltype(&PMPI_Sendrecv) sendrecv = PMPI_Sendrecv;  // of a rank to itself: host_buffers.hpp
};

/// Elements of one datatype, `first` elements from the begin of a user's buffer.
struct Block {
  Count first = 0;
  Count count = 0;
};

/// The parts of the buffer that a rank receives into, in the order of the problem.
[[nodiscard]] std::vector<Block> received_blocks(const Call& call, Rank ranks);

/// Changed before the first call only.
inline NativeCalls native_calls;

/// True if the MPI library must refuse the arguments before it takes part in the call. `own`: a
/// communicator of ours; MPI_COMM_NULL: it is not asked whether datatypes are committed.
[[nodiscard]] bool refused(const Call& call, Rank ranks, Rank me, MPI_Comm own);

/// True if with this code MPI ended a call before it took part in it, because of wrong arguments.
[[nodiscard]] bool is_refusal(int code);

/// The problem of a call whose arguments are not wrong. If data are only moved, elements are bytes:
/// ranks may describe them by different datatypes.
[[nodiscard]] Problem problem_of(const Call& call, Rank ranks, Rank me);

/// The problem; nothing if the arguments are wrong. `own` as in refused().
[[nodiscard]] std::optional<Problem> checked_problem_of(const Call& call, Rank ranks, Rank me,
                                                        MPI_Comm own);

}  // namespace latecomer
