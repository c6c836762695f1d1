// The collectives of the C API as calls, from MPI's argument lists.
#pragma once

#include "runtime/call.hpp"

namespace latecomer::calls {

inline Call allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm, const void* site) {
  Call call{Collective::allreduce, sendbuf, count, type, recvbuf, count, type, op, 0, comm, site};
  call.native = [=] { return PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm); };
  return call;
}

inline Call reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                   int root, MPI_Comm comm, const void* site) {
  Call call{Collective::reduce, sendbuf, count, type, recvbuf, count, type, op, root, comm, site};
  call.native = [=] { return PMPI_Reduce(sendbuf, recvbuf, count, type, op, root, comm); };
  return call;
}

inline Call bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                  const void* site) {
  Call call{Collective::bcast, buffer, count, type, buffer, count, type,
            MPI_OP_NULL,       root,   comm,  site};
  call.native = [=] { return PMPI_Bcast(buffer, count, type, root, comm); };
  return call;
}

inline Call allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                      int recvcount, MPI_Datatype recvtype, MPI_Comm comm, const void* site) {
  Call call{Collective::allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
            MPI_OP_NULL,           0,       comm,      site};
  call.native = [=] {
    return PMPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  };
  return call;
}

inline Call allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                       const int* recvcounts, const int* displs, MPI_Datatype recvtype,
                       MPI_Comm comm, const void* site) {
  static constexpr int kNone[] = {
      0};  // an all-gather whose parts differ has counts, right or wrong
  Call call{Collective::allgather, sendbuf, sendcount, sendtype, recvbuf, 0, recvtype,
            MPI_OP_NULL,           0,       comm,      site};
  call.native = [=] {
    return PMPI_Allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                           comm);
  };
  call.recvcounts = recvcounts == nullptr ? kNone : recvcounts;
  call.displs = recvcounts == nullptr ? nullptr : displs;
  return call;
}

inline Call gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                   int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                   const void* site) {
  Call call{Collective::gather, sendbuf,     sendcount, sendtype, recvbuf, recvcount,
            recvtype,           MPI_OP_NULL, root,      comm,     site};
  call.native = [=] {
    return PMPI_Gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
  };
  return call;
}

inline Call scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                    int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                    const void* site) {
  Call call{Collective::scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
            MPI_OP_NULL,         root,    comm,      site};
  call.native = [=] {
    return PMPI_Scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
  };
  return call;
}

}  // namespace latecomer::calls
