#include "runtime/connection/internal_comm.hpp"

#include "transports/mpi/user_code.hpp"

namespace latecomer {

namespace {

/// The user's handler may throw where MPI refuses to tell of the communicator.
int create(MPI_Comm user, MPI_Comm& comm) {
  MPI_Group group = MPI_GROUP_NULL;
  int code = PMPI_Comm_group(user, &group);
  if (code != MPI_SUCCESS) return code;
  // The user's handler would end the program, where there is another way: the MPI library's own
  // collectives.
  MPI_Errhandler users = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(user, &users);
  PMPI_Comm_set_errhandler(user, MPI_ERRORS_RETURN);
  code = PMPI_Comm_create(user, group, &comm);
  PMPI_Comm_set_errhandler(user, users);
  PMPI_Errhandler_free(&users);
  PMPI_Group_free(&group);
  if (code != MPI_SUCCESS) return code;
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  PMPI_Comm_set_name(comm, "latecomer");
  return code;
}

}  // namespace

int make_beside(MPI_Comm user, MPI_Comm& comm) {
  return UserCode::run([&] { return create(user, comm); });
}

int InternalComm::make(MPI_Comm user, std::unique_ptr<InternalComm>& made) {
  MPI_Comm comm = MPI_COMM_NULL;
  const int code = make_beside(user, comm);
  if (code != MPI_SUCCESS) return code;
  made.reset(new InternalComm(comm, true));
  return MPI_SUCCESS;
}

InternalComm::~InternalComm() {
  if (keep_) return;
  --living_;
  if (!whole_) return;
  MPI_Comm comm = link_.comm();
  PMPI_Comm_free(&comm);
}

}  // namespace latecomer
