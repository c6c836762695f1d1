// The C API's collectives, blocking and persistent: converts arguments and exceptions, nothing
// else.
#include "base/error.hpp"
#include "capi/mpi/calls.hpp"
#include "capi/mpi/guard.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runtime/call/persistent.hpp"

// The object behind a latecomer_request.

struct latecomer_request_s {
  latecomer::PersistentCall call;
};

namespace {

using latecomer::Call;
namespace calls = latecomer::calls;

int enter(const Call& call) {
  return latecomer::communicate(call, [&] { return latecomer::execute_in_order(call); });
}

int announce(const Call& call, latecomer_request* request) {
  return latecomer::with_state(call.comm, [&](latecomer::CommState&) {
    if (request == nullptr)
      throw latecomer::Error("request", "NULL", "a pointer to memory for the result");
    *request = new latecomer_request_s{latecomer::PersistentCall(call)};
  });
}

}  // namespace

extern "C" {

int latecomer_allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                        MPI_Op op, MPI_Comm comm) {
  return enter(
      calls::allreduce(sendbuf, recvbuf, count, datatype, op, comm, __builtin_return_address(0)));
}

int latecomer_allreduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                             MPI_Op op, MPI_Comm comm, MPI_Info, latecomer_request* request) {
  return announce(
      calls::allreduce(sendbuf, recvbuf, count, datatype, op, comm, __builtin_return_address(0)),
      request);
}

int latecomer_reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                     MPI_Op op, int root, MPI_Comm comm) {
  return enter(calls::reduce(sendbuf, recvbuf, count, datatype, op, root, comm,
                             __builtin_return_address(0)));
}

int latecomer_reduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                          MPI_Op op, int root, MPI_Comm comm, MPI_Info,
                          latecomer_request* request) {
  return announce(
      calls::reduce(sendbuf, recvbuf, count, datatype, op, root, comm, __builtin_return_address(0)),
      request);
}

int latecomer_bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  return enter(calls::bcast(buffer, count, datatype, root, comm, __builtin_return_address(0)));
}

int latecomer_bcast_init(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                         MPI_Info, latecomer_request* request) {
  return announce(calls::bcast(buffer, count, datatype, root, comm, __builtin_return_address(0)),
                  request);
}

int latecomer_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                        int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return enter(calls::allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                __builtin_return_address(0)));
}

int latecomer_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                             void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                             MPI_Info, latecomer_request* request) {
  return announce(calls::allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                   __builtin_return_address(0)),
                  request);
}

int latecomer_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                         const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                         MPI_Comm comm) {
  return enter(calls::allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                 recvtype, comm, __builtin_return_address(0)));
}

int latecomer_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                              void* recvbuf, const int recvcounts[], const int displs[],
                              MPI_Datatype recvtype, MPI_Comm comm, MPI_Info,
                              latecomer_request* request) {
  return announce(calls::allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                    recvtype, comm, __builtin_return_address(0)),
                  request);
}

int latecomer_gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                     int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return enter(calls::gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,
                             __builtin_return_address(0)));
}

int latecomer_gather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                          int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info,
                          latecomer_request* request) {
  return announce(calls::gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                                comm, __builtin_return_address(0)),
                  request);
}

int latecomer_scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                      int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return enter(calls::scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                              comm, __builtin_return_address(0)));
}

int latecomer_scatter_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                           int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info,
                           latecomer_request* request) {
  return announce(calls::scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                                 comm, __builtin_return_address(0)),
                  request);
}

}  // extern "C"

namespace {

// The C API of persistent calls once they are announced.

using latecomer::Error;
using latecomer::failed;
using latecomer::guarded;
using latecomer::outside_of_mpi;

latecomer::PersistentCall& call_of(const latecomer_request* request) {
  if (request == nullptr || *request == LATECOMER_REQUEST_NULL) {
    throw Error("request", "NULL", "one that latecomer_allreduce_init or another made");
  }
  return (*request)->call;
}

}  // namespace

extern "C" {

int latecomer_start(latecomer_request* request) {
  if (const char* const why = outside_of_mpi()) return failed(why, MPI_ERR_OTHER);
  return guarded(MPI_ERR_REQUEST, [&] {
    call_of(request).start();
    return MPI_SUCCESS;
  });
}

int latecomer_wait(latecomer_request* request) {
  if (const char* const why = outside_of_mpi()) return failed(why, MPI_ERR_OTHER);
  return guarded(MPI_ERR_REQUEST, [&] { return call_of(request).wait(); });
}

int latecomer_request_free(latecomer_request* request) {
  return guarded(MPI_ERR_REQUEST, [&] {
    if (call_of(request).active()) throw Error("request", "started", "one that was waited for");
    delete *request;
    *request = LATECOMER_REQUEST_NULL;
    return MPI_SUCCESS;
  });
}

}  // extern "C"
