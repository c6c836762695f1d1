// The collectives of the C API as calls, from MPI's argument lists.
#pragma once

#include "runtime/call/call.hpp"

namespace latecomer::calls {

inline Call allreduce(const void* sendbuf, void* recvbuf, Count count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm, const void* site) {
  return {Collective::allreduce, sendbuf, count, type, recvbuf, count, type, op, 0, comm, site};
}

inline Call reduce(const void* sendbuf, void* recvbuf, Count count, MPI_Datatype type, MPI_Op op,
                   int root, MPI_Comm comm, const void* site) {
  return {Collective::reduce, sendbuf, count, type, recvbuf, count, type, op, root, comm, site};
}

inline Call bcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm,
                  const void* site) {
  return {Collective::bcast, buffer, count, type, buffer, count, type,
          MPI_OP_NULL,       root,   comm,  site};
}

inline Call allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, const void* site) {
  return {Collective::allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
          MPI_OP_NULL,           0,       comm,      site};
}

inline Call allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       const int* recvcounts, const int* displs, MPI_Datatype recvtype,
                       MPI_Comm comm, const void* site) {
  Call call = allgather(sendbuf, sendcount, sendtype, recvbuf, 0, recvtype, comm, site);
  call.recvcounts = recvcounts == nullptr ? kNoCounts : recvcounts;
  call.displs = displs;
  return call;
}

inline Call gather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                   Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                   const void* site) {
  return {Collective::gather, sendbuf,     sendcount, sendtype, recvbuf, recvcount,
          recvtype,           MPI_OP_NULL, root,      comm,     site};
}

inline Call scatter(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                    const void* site) {
  return {Collective::scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
          MPI_OP_NULL,         root,    comm,      site};
}

}  // namespace latecomer::calls
