#include "dropin/wrapped.hpp"

#include <climits>

#include "capi/mpi/calls.hpp"
#include "capi/mpi/guard.hpp"
#include "dropin/activity.hpp"
#include "dropin/next.hpp"

namespace latecomer::wrapped {
namespace {

Count bytes_of(Count count, MPI_Datatype type) {
  int size = 0;
  if (type != MPI_DATATYPE_NULL) PMPI_Type_size(type, &size);
  return count * size;
}

/// True if the call is left to the MPI library at once. MPI makes `count` of `type` equal in bytes
/// on all ranks, so all of them leave it.
bool passes(Count count, MPI_Datatype type) {
  if (!is_active()) return true;
  return min_bytes() > 0 && bytes_of(count, type) < min_bytes();
}

int enter(const Call& call) {
  return communicate(call, [&] { return execute_in_order(call); });
}

}  // namespace

int allreduce(const void* sendbuf, void* recvbuf, Count count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, const void* site) {
  const Call call = calls::allreduce(sendbuf, recvbuf, count, type, op, comm, site);
  return passes(count, type) ? call.native() : enter(call);
}

int reduce(const void* sendbuf, void* recvbuf, Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm, const void* site) {
  const Call call = calls::reduce(sendbuf, recvbuf, count, type, op, root, comm, site);
  return passes(count, type) ? call.native() : enter(call);
}

int bcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm, const void* site) {
  const Call call = calls::bcast(buffer, count, type, root, comm, site);
  return passes(count, type) ? call.native() : enter(call);
}

int allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
              Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, const void* site) {
  const Call call =
      calls::allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, site);
  return passes(recvcount, recvtype) ? call.native() : enter(call);
}

/// The parts may differ: no rank knows at once how long the vector is.
int allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
               const int* recvcounts, const int* displs, MPI_Datatype recvtype, MPI_Comm comm,
               const void* site) {
  const Call call = calls::allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                      recvtype, comm, site);
  return is_active() ? enter(call) : call.native();
}

int gather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
           Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, const void* site) {
  const Call call =
      calls::gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, site);
  return is_active() ? enter(call) : call.native();
}

int scatter(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
            Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, const void* site) {
  const Call call =
      calls::scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, site);
  return is_active() ? enter(call) : call.native();
}

#if LATECOMER_LARGE_COUNTS
int allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
               const MPI_Count* recvcounts, const MPI_Aint* displs, MPI_Datatype recvtype,
               MPI_Comm comm, const void* site) {
  (void)site;
  static const auto native = next("MPI_Allgatherv_c", PMPI_Allgatherv_c);
  return native(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
}
#endif

int barrier(MPI_Comm comm, const void*) {
  static const auto native = next("MPI_Barrier", PMPI_Barrier);
  return native(comm);
}

int alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
             Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, const void*) {
#if LATECOMER_LARGE_COUNTS
  if (sendcount > INT_MAX || recvcount > INT_MAX) {
    static const auto large = next("MPI_Alltoall_c", PMPI_Alltoall_c);
    return large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  }
#endif
  static const auto native = next("MPI_Alltoall", PMPI_Alltoall);
  return native(sendbuf, static_cast<int>(sendcount), sendtype, recvbuf,
                static_cast<int>(recvcount), recvtype, comm);
}

int comm_dup(MPI_Comm comm, MPI_Comm* newcomm, const void*) {
  static const auto native = next("MPI_Comm_dup", PMPI_Comm_dup);
  return native(comm, newcomm);
}

int comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm, const void*) {
  static const auto native = next("MPI_Comm_split", PMPI_Comm_split);
  return native(comm, color, key, newcomm);
}

int init(int* argc, char*** argv, const void*) {
  static const auto native = next("MPI_Init", PMPI_Init);
  const int code = native(argc, argv);
  if (code == MPI_SUCCESS) begin_activity();
  return code;
}

int init_thread(int* argc, char*** argv, int required, int* provided, const void*) {
  static const auto native = next("MPI_Init_thread", PMPI_Init_thread);
  const int code = native(argc, argv, required, provided);
  if (code == MPI_SUCCESS) begin_activity();
  return code;
}

int finalize(const void*) {
  static const auto native = next("MPI_Finalize", PMPI_Finalize);
  if (is_active()) end_activity();
  return native();
}

}  // namespace latecomer::wrapped
