// The C API's collectives, blocking and persistent: converts arguments and exceptions, nothing
// else.
#include "base/error.hpp"
#include "capi/mpi/calls.hpp"
#include "capi/mpi/guard.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runtime/call/persistent.hpp"
#include "runtime/trace/tracer.hpp"

// The object behind a latecomer_request.

struct latecomer_request_s {
  latecomer::PersistentCall call;
};

namespace {

using latecomer::Call;
namespace calls = latecomer::calls;

/// The drop-in library, if it is active in the process, records these calls with those of MPI.
template <class Work>
int recorded(const Call& call, Work&& work) {
  if (!latecomer::used_last(call.comm) && latecomer::outside_of_mpi() != nullptr) return work();
  if (latecomer::dropin_observer() == nullptr) return work();
  latecomer::trace::Call record;
  const latecomer::CommState* const state = latecomer::existing_state(call.comm);
  if (state != nullptr) latecomer::trace::describe(record, call, *state);
  const char* const name = call.parts_differ() ? "allgatherv" : to_string(call.collective).data();
  return latecomer::observed({&call.comm, name, record.bytes, call.site}, work);
}

int enter(const Call& call) {
  return recorded(call, [&] {
    return latecomer::communicate(call, [&] { return latecomer::execute_in_order(call); });
  });
}

int announce(const Call& call, latecomer_request* request) {
  return latecomer::with_state(call.comm, [&](latecomer::CommState&) {
    if (request == nullptr)
      throw latecomer::Error("request", "NULL", "a pointer to memory for the result");
    *request = new latecomer_request_s{latecomer::PersistentCall(call)};
  });
}

}  // namespace

// A collective twice: carried out at once, and announced. `arguments`: names of the parameters.
#define LATECOMER_UNWRAPPED(...) __VA_ARGS__
#define LATECOMER_COLLECTIVE(name, arguments, ...)                                                 \
  extern "C" int latecomer_##name(__VA_ARGS__, MPI_Comm comm) {                                    \
    return enter(calls::name(LATECOMER_UNWRAPPED arguments, comm, __builtin_return_address(0)));   \
  }                                                                                                \
  extern "C" int latecomer_##name##_init(__VA_ARGS__, MPI_Comm comm, MPI_Info,                     \
                                         latecomer_request* request) {                             \
    return announce(calls::name(LATECOMER_UNWRAPPED arguments, comm, __builtin_return_address(0)), \
                    request);                                                                      \
  }

LATECOMER_COLLECTIVE(allreduce, (sendbuf, recvbuf, count, datatype, op), const void* sendbuf,
                     void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op)
LATECOMER_COLLECTIVE(reduce, (sendbuf, recvbuf, count, datatype, op, root), const void* sendbuf,
                     void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root)
LATECOMER_COLLECTIVE(bcast, (buffer, count, datatype, root), void* buffer, int count,
                     MPI_Datatype datatype, int root)
LATECOMER_COLLECTIVE(allgather, (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
                     const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                     int recvcount, MPI_Datatype recvtype)
LATECOMER_COLLECTIVE(allgatherv,
                     (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype),
                     const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                     const int recvcounts[], const int displs[], MPI_Datatype recvtype)
LATECOMER_COLLECTIVE(gather, (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root),
                     const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                     int recvcount, MPI_Datatype recvtype, int root)
LATECOMER_COLLECTIVE(scatter, (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root),
                     const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                     int recvcount, MPI_Datatype recvtype, int root)

#undef LATECOMER_COLLECTIVE
#undef LATECOMER_UNWRAPPED

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
  return guarded(MPI_ERR_REQUEST, [&] {
    latecomer::PersistentCall& call = call_of(request);
    if (!call.active()) return call.wait();
    return recorded(call.arguments(), [&] { return call.wait(); });
  });
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
