// The bodies of the intercepted functions, for all forms of a function: src/dropin/functions.txt.
#pragma once

#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

// MPI 4 has functions whose counts are MPI_Count. What the MPI library lacks is not exported, since
// programs ask by the symbol what there is.
#define LATECOMER_LARGE_COUNTS (MPI_VERSION >= 4)

namespace latecomer::wrapped {

// `site`: where the program calls from, for reports.
int allreduce(const void* sendbuf, void* recvbuf, Count count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, const void* site);
int reduce(const void* sendbuf, void* recvbuf, Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm, const void* site);
int bcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm, const void* site);
int allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
              Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, const void* site);
int allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
               const int* recvcounts, const int* displs, MPI_Datatype recvtype, MPI_Comm comm,
               const void* site);
#if LATECOMER_LARGE_COUNTS
int allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
               const MPI_Count* recvcounts, const MPI_Aint* displs, MPI_Datatype recvtype,
               MPI_Comm comm, const void* site);
#endif
int gather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
           Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, const void* site);
int scatter(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
            Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, const void* site);

int barrier(MPI_Comm comm, const void* site);
int alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
             Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, const void* site);
int comm_dup(MPI_Comm comm, MPI_Comm* newcomm, const void* site);
int comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm, const void* site);

/// A collective that makes a communicator, and that latecomer only looks at.
int made(MPI_Comm comm, MPI_Comm* newcomm, const char* collective, const void* site,
         int (*native)(const void*), const void* data);
int comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm, const void* site);

/// Calls of the MPI library by code that knows its arguments.
template <class Native>
int run(const void* native) {
  return (*static_cast<const Native*>(native))();
}

/// A tag by which ranks know which communicator they make together, as a word.
std::uint64_t word_of(const char* tag);
std::uint64_t word_of(int tag);
/// One that makes a communicator of ranks that need not have another one in common. `tag`: a word;
/// 0: it has none.
int made_apart(std::uint64_t tag, MPI_Comm* newcomm, const void* site, int (*native)(const void*),
               const void* data);
template <class Native>
int made_apart(std::uint64_t tag, MPI_Comm* newcomm, const void* site, const Native& native) {
  return made_apart(tag, newcomm, site, run<Native>, &native);
}
template <class Native>
int made(MPI_Comm comm, MPI_Comm* newcomm, const char* collective, const void* site,
         const Native& native) {
  return made(comm, newcomm, collective, site, run<Native>, &native);
}
/// One that begins to duplicate a communicator.
int duplicated(MPI_Comm comm, int (*native)(const void*), const void* data);
template <class Native>
int duplicated(MPI_Comm comm, const Native& native) {
  return duplicated(comm, run<Native>, &native);
}

/// A collective that latecomer only looks at, by the name that reports have. `bytes`: -1: not
/// known.
int watched(MPI_Comm comm, const char* collective, const void* site, int (*native)(const void*),
            const void* data, std::int64_t bytes = -1);
template <class Native>
int watched(MPI_Comm comm, const char* collective, const void* site, const Native& native,
            std::int64_t bytes = -1) {
  return watched(comm, collective, site, run<Native>, &native, bytes);
}

int init(int* argc, char*** argv, const void* site);
int init_thread(int* argc, char*** argv, int required, int* provided, const void* site);
int initialized(int* flag, const void* site);
int finalize(const void* site);

}  // namespace latecomer::wrapped
