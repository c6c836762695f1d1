/* Sums the ranks' numbers by latecomer, and checks the sum, and that latecomer did it. */
#include <latecomer/latecomer_mpi.h>
#include <stdio.h>

enum { COUNT = 1000 };

int main(int argc, char** argv) {
  int rank = 0;
  int ranks = 0;
  double mine[COUNT];
  double sum[COUNT];
  latecomer_stats stats;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (latecomer_set_algorithm(MPI_COMM_WORLD, "allreduce", "ring") != MPI_SUCCESS) {
    fprintf(stderr, "%s\n", latecomer_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int i = 0; i < COUNT; ++i) mine[i] = rank + i;
  latecomer_allreduce(mine, sum, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < COUNT; ++i) {
    if (sum[i] != ranks * (ranks - 1) / 2 + (double)ranks * i) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  latecomer_get_stats(MPI_COMM_WORLD, &stats);
  if (rank == 0) {
    printf("latecomer %s: %d ranks, %d call handled\n", latecomer_version(), ranks,
           (int)stats.handled);
  }
  MPI_Finalize();
  return stats.handled == 1 ? 0 : 1;
}
