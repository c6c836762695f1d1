#include "transports/mpi/datatype.hpp"

namespace latecomer {

Datatype Datatype::hashed(std::uint64_t* hash, void* data, int count, MPI_Datatype type) {
  const int counts[] = {1, count};
  const MPI_Datatype types[] = {MPI_UINT64_T, type};
  MPI_Aint places[2];
  PMPI_Get_address(hash, &places[0]);
  PMPI_Get_address(data, &places[1]);
  Datatype made;
  PMPI_Type_create_struct(2, counts, places, types, &made.type_);
  PMPI_Type_commit(&made.type_);
  return made;
}

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
