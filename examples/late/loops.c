/* MPI programs that know nothing of latecomer, as loops of a computation and an all-reduce:
 *
 *     random     each rank computes 10 to 50 ms, anew in each step; vectors of 256 KiB and 1 MiB
 *     rotating   one rank computes 60 ms, the others 15 ms; each ten steps it is another one;
 *                vectors of 512 KiB, and in each fourth step of 64 KiB
 *     sweep      each rank waits for 32 KiB of the one before, computes 5 ms, and sends as much to
 *                the next; rank 2 computes 25 ms; vectors of 512 KiB
 *     halo       each rank computes 20 ms, rank 1 50 ms, and exchanges 64 KiB with both neighbours;
 *                vectors of 512 KiB in each second step
 *
 *     mpicc loops.c -o loops
 *     latecomer run -- mpirun -n 8 ./loops random 50      50 steps; the default is 40
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most = 1 << 18, edge = 1 << 13 };
enum form { random_work, rotating, sweep, halo };
static const char* const names[] = {"random", "rotating", "sweep", "halo"};

static float mine[most], sum[most];
static float from_left[2 * edge], from_right[2 * edge];
static int rank = 0, ranks = 1;

/* Milliseconds of computation, the same in each run. */
static double computation(enum form form, int step) {
  if (form == rotating) return step / 10 % ranks == rank ? 60 : 15;
  if (form == sweep) return rank == 2 ? 25 : 5;
  if (form == halo) return rank == 1 ? 50 : 20;
  unsigned state = 2654435761u * (unsigned)(step * 1000 + rank + 1);
  for (int i = 0; i < 3; ++i) state = (state ^ state >> 15) * 2246822519u;
  return 10 + 40.0 * (state >> 8) / (1 << 24);
}

/* Numbers of the all-reduce; 0: there is none. */
static int vector(enum form form, int step) {
  if (form == rotating) return step % 4 == 3 ? most / 16 : most / 2;
  if (form == sweep) return most / 2;
  if (form == halo) return step % 2 ? most / 2 : 0;
  return step % 2 ? most : most / 4;
}

static void compute(enum form form, int step) {
  const struct timespec pause = {0, (long)(computation(form, step) * 1e6)};
  nanosleep(&pause, NULL);
}

static void exchange(void) {
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  MPI_Request requests[4];
  MPI_Irecv(from_left, 2 * edge, MPI_FLOAT, left, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(from_right, 2 * edge, MPI_FLOAT, right, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(mine, 2 * edge, MPI_FLOAT, right, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(mine + edge, 2 * edge, MPI_FLOAT, left, 2, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void work(enum form form, int step) {
  if (form == sweep && rank > 0) {
    MPI_Recv(from_left, edge, MPI_FLOAT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  compute(form, step);
  if (form == sweep && rank < ranks - 1) {
    MPI_Send(mine, edge, MPI_FLOAT, rank + 1, 1, MPI_COMM_WORLD);
  }
  if (form == halo) exchange();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  enum form form = random_work;
  while (argc > 1 && form <= halo && strcmp(argv[1], names[form]) != 0) ++form;
  if (form > halo) {
    if (rank == 0) fprintf(stderr, "FORM: '%s' is unknown: loops.c has a list\n", argv[1]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int steps = argc > 2 ? atoi(argv[2]) : 40;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    work(form, step);
    const int count = vector(form, step);
    for (int i = 0; i < count; ++i) mine[i] = (float)((rank + step + i) % 16);
    if (count > 0) MPI_Allreduce(mine, sum, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%d steps in %.3f s\n", steps, MPI_Wtime() - begin);
  return MPI_Finalize();
}
