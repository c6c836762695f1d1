// The C API of persistent calls once they are announced.
#include "base/error.hpp"
#include "capi/mpi/guard.hpp"
#include "capi/mpi/request.hpp"
#include "latecomer/latecomer_mpi.h"

namespace {

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
