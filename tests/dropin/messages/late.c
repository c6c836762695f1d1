/* Lateness that is handed on: mpirun -n N late FORM STEPS RANK. In each step the rank sleeps for
 * 60 ms and the others for 2 ms. FORM: wavefront (each rank waits for the edge of the one before),
 * halo (both neighbours exchange edges), or started (a collective that MPI_Wait completes). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EDGE = 4096 };
static double edge[EDGE], before[EDGE], after[EDGE], part[512], sum[512];
static int rank, ranks;

static void compute(int slow) {
  const struct timespec time = {0, (rank == slow ? 60 : 2) * 1000000L};
  nanosleep(&time, NULL);
}

static void wavefront(int slow) {
  if (rank > 0) MPI_Recv(before, EDGE, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  compute(slow);
  if (rank < ranks - 1) MPI_Send(edge, EDGE, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
  MPI_Allreduce(part, sum, 512, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void halo(int slow) {
  MPI_Request all[4];
  const int low = (rank + ranks - 1) % ranks, high = (rank + 1) % ranks;
  compute(slow);
  MPI_Irecv(before, EDGE, MPI_DOUBLE, low, 0, MPI_COMM_WORLD, &all[0]);
  MPI_Irecv(after, EDGE, MPI_DOUBLE, high, 1, MPI_COMM_WORLD, &all[1]);
  MPI_Isend(edge, EDGE, MPI_DOUBLE, high, 0, MPI_COMM_WORLD, &all[2]);
  MPI_Isend(edge, EDGE, MPI_DOUBLE, low, 1, MPI_COMM_WORLD, &all[3]);
  MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
}

static void started(int slow) {
  MPI_Request request;
  compute(slow);
  MPI_Iallreduce(part, sum, 512, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) {
    if (rank == 0) fprintf(stderr, "usage: late FORM STEPS RANK\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  void (*const step)(int) = strcmp(argv[1], "halo") == 0      ? halo
                            : strcmp(argv[1], "started") == 0 ? started
                                                              : wavefront;
  for (int i = 0; i < atoi(argv[2]); i++) step(atoi(argv[3]));
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
