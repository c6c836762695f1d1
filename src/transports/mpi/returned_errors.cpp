#include "transports/mpi/returned_errors.hpp"

#include <mutex>

#include "transports/mpi/mpi.hpp"

namespace latecomer {
namespace {

// Threads may be in calls on different communicators: the first changes the handler, the last
// restores it.
std::mutex guard;
int users = 0;
MPI_Errhandler before = MPI_ERRHANDLER_NULL;

}  // namespace

ReturnedErrors::ReturnedErrors() {
  const std::lock_guard lock(guard);
  if (users++ > 0) return;
  PMPI_Comm_get_errhandler(MPI_COMM_SELF, &before);
  PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

ReturnedErrors::~ReturnedErrors() {
  const std::lock_guard lock(guard);
  if (--users > 0) return;
  PMPI_Comm_set_errhandler(MPI_COMM_SELF, before);
  PMPI_Errhandler_free(&before);
}

}  // namespace latecomer
