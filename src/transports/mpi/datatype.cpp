#include "transports/mpi/datatype.hpp"

namespace latecomer {

Datatype Datatype::resized(MPI_Datatype type, MPI_Aint lower_bound, MPI_Aint extent) {
  Datatype made;
  PMPI_Type_create_resized(type, lower_bound, extent, &made.type_);
  PMPI_Type_commit(&made.type_);
  return made;
}

void Datatype::reset() {
  if (type_ != MPI_DATATYPE_NULL) PMPI_Type_free(&type_);
}

}  // namespace latecomer
