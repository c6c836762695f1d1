/* An MPI program that knows nothing of latecomer, with one slow rank: each step is a computation of
 * 20 ms, on rank 1 of 60 ms, and an all-reduce of 1 MiB.
 *
 *     mpicc late.c -o late
 *     latecomer run --compare -- mpirun -n 4 ./late 50      50 steps; the default is 40
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { count = 1 << 18, slow_rank = 1 };

static void compute(int rank) {
  const struct timespec time = {0, (rank == slow_rank ? 60 : 20) * 1000000L};
  nanosleep(&time, NULL);
}

int main(int argc, char** argv) {
  static float mine[count], sum[count];
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int steps = argc > 1 ? atoi(argv[1]) : 40;
  const double begin = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    compute(rank);
    for (int i = 0; i < count; ++i) mine[i] = (float)((rank + step + i) % 16);
    MPI_Allreduce(mine, sum, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%d steps in %.3f s\n", steps, MPI_Wtime() - begin);
  return MPI_Finalize();
}
