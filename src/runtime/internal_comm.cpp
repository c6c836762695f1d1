#include "runtime/internal_comm.hpp"

namespace latecomer {

/// MPI_Comm_dup would call the copy functions of the user's attributes.
InternalComm::InternalComm(MPI_Comm user) {
  MPI_Group group = MPI_GROUP_NULL;
  code_ = PMPI_Comm_group(user, &group);
  if (code_ != MPI_SUCCESS) return;
  code_ = PMPI_Comm_create(user, group, &comm_);
  PMPI_Group_free(&group);
  if (code_ != MPI_SUCCESS) return;
  PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  PMPI_Comm_set_name(comm_, "latecomer");
}

InternalComm::~InternalComm() {
  if (comm_ != MPI_COMM_NULL && !keep_) PMPI_Comm_free(&comm_);
}

}  // namespace latecomer
