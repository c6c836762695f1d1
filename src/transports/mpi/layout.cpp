#include "transports/mpi/layout.hpp"

namespace latecomer {

Layout::Layout(MPI_Datatype datatype) : type(datatype) {
  MPI_Count bytes = 0;
  PMPI_Type_size_x(type, &bytes);
  size = bytes;
  MPI_Aint lower = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
}

}  // namespace latecomer
