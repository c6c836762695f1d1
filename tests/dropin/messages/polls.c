/* Computation between tests: mpirun -n N polls FORM STEPS. In each step each rank computes, rank 1
 * ten times as long as the others, sends to the next one, and waits for the one before. FORM:
 * chunks (it tests between pieces of its computation, then waits in MPI) or tasks (it does further
 * pieces until a test tells that the message has come). Rank 0 prints for each rank the seconds in
 * which it computed, and the rest of the loop. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double piece = 500e-6; /* of the processor */
static int rank, ranks;
static double computed;
static MPI_Request request;
static int done;

static double clock_of(clockid_t which) {
  struct timespec time;
  clock_gettime(which, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* On a busy machine a piece takes longer than it uses the processor. */
static void compute_and_test(void) {
  const double begin = clock_of(CLOCK_MONOTONIC);
  const double until = clock_of(CLOCK_THREAD_CPUTIME_ID) + piece;
  while (clock_of(CLOCK_THREAD_CPUTIME_ID) < until) continue;
  computed += clock_of(CLOCK_MONOTONIC) - begin;
  if (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  static double in[512], out[512];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = clock_of(CLOCK_MONOTONIC);
  for (int step = 0; argc > 2 && step < atoi(argv[2]); ++step) {
    MPI_Irecv(in, 512, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &request);
    done = 0;
    for (int i = 0; i < (rank == 1 ? 60 : 6); ++i) compute_and_test();
    MPI_Send(out, 512, MPI_DOUBLE, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
    while (!done && strcmp(argv[1], "tasks") == 0) compute_and_test();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(in, out, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  const double told[2] = {computed, clock_of(CLOCK_MONOTONIC) - begin - computed};
  double all[2 * 16];
  MPI_Gather(told, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks; ++i) printf("%.6f %.6f\n", all[2 * i], all[2 * i + 1]);
  return MPI_Finalize();
}
