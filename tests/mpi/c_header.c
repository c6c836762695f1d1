/* The public header is C. */
#include "latecomer/latecomer_mpi.h"

int latecomer_test_c_header(MPI_Comm comm) {
  latecomer_stats stats = {0};
  return latecomer_get_stats(comm, &stats);
}
