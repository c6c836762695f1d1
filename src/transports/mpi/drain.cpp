#include "transports/mpi/drain.hpp"

#include "transports/mpi/backoff.hpp"

namespace latecomer {
namespace {

bool all_done(std::vector<MPI_Request>& requests) {
  bool all = true;
  for (MPI_Request& request : requests) {
    int done = 0;
    // A request whose test fails cannot be waited for.
    if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) all = false;
  }
  return all;
}

/// Frees the requests that are left. Returns false if there were some.
bool free_rest(std::vector<MPI_Request>& requests) {
  bool none = true;
  for (MPI_Request& request : requests) {
    if (request == MPI_REQUEST_NULL) continue;
    PMPI_Request_free(&request);
    none = false;
  }
  return none;
}

}  // namespace

bool drain(std::vector<MPI_Request>& receives, std::vector<MPI_Request>& sends) {
  constexpr Seconds kAtMost = 1;
  for (MPI_Request& request : receives) PMPI_Cancel(&request);
  wait_until([&] { return all_done(receives) && all_done(sends); }, kAtMost);
  const bool received = free_rest(receives);
  return free_rest(sends) && received;
}

}  // namespace latecomer
