/* MPI programs that know nothing of latecomer, as loops of a computation and an all-reduce:
 *
 *     random     each rank computes 10 to 50 ms, anew in each step; vectors of 256 KiB and 1 MiB
 *     rotating   one rank computes 60 ms, the others 15 ms; each ten steps it is another one;
 *                vectors of 512 KiB, and in each fourth step of 64 KiB
 *
 *     mpicc loops.c -o loops
 *     latecomer run -- mpirun -n 8 ./loops random 50      50 steps; the default is 40
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most = 1 << 18 };

/* Milliseconds of computation, the same in each run. */
static double computation(int rotating, int step, int rank, int ranks) {
  if (rotating) return step / 10 % ranks == rank ? 60 : 15;
  unsigned state = 2654435761u * (unsigned)(step * 1000 + rank + 1);
  for (int i = 0; i < 3; ++i) state = (state ^ state >> 15) * 2246822519u;
  return 10 + 40.0 * (state >> 8) / (1 << 24);
}

int main(int argc, char** argv) {
  static float mine[most], sum[most];
  int rank = 0, ranks = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int rotating = argc > 1 && strcmp(argv[1], "rotating") == 0;
  const int steps = argc > 2 ? atoi(argv[2]) : 40;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    const double ms = computation(rotating, step, rank, ranks);
    const struct timespec pause = {0, (long)(ms * 1e6)};
    nanosleep(&pause, NULL);
    int count = step % 2 ? most : most / 4;
    if (rotating) count = step % 4 == 3 ? most / 16 : most / 2;
    for (int i = 0; i < count; ++i) mine[i] = (float)((rank + step + i) % 16);
    MPI_Allreduce(mine, sum, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%d steps in %.3f s\n", steps, MPI_Wtime() - begin);
  return MPI_Finalize();
}
