/* An MPI program with two kinds of work on one host, which knows nothing of latecomer: while early
 * ranks wait for a late one, a computation beside them wants their cores.
 *
 *     mpicc beside.c -o beside -lpthread
 *     LATECOMER_WAIT=sleep latecomer run -- mpirun -n 2 ./beside 40        40 steps, as by default
 *
 * A step is a pause of 10 ms, on rank 1 of 50 ms, and an all-reduce of 1 MiB. Each rank has a
 * thread that computes all the time. The program prints how much these have computed, and which
 * part of a core the early ranks took inside the all-reduce.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { count = 1 << 18, late_rank = 1 };

static atomic_bool ends;

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void* compute(void* computed) {
  volatile double x = 1;
  for (; !ends; ++*(double*)computed) {
    for (int i = 0; i < 10000; ++i) x = x * 0.999999 + 1e-6;
  }
  return NULL;
}

/* Adds the time inside all-reduces, and this thread's processor time there, to `in`. */
static void step(int rank, double in[2]) {
  static float mine[count], sum[count];
  const struct timespec pause = {0, (rank == late_rank ? 50 : 10) * 1000000L};
  nanosleep(&pause, NULL);
  for (int i = 0; i < count; ++i) mine[i] = (float)(rank + i % 16);
  const double begin = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_THREAD_CPUTIME_ID);
  MPI_Allreduce(mine, sum, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == late_rank) return;
  in[0] += seconds(CLOCK_MONOTONIC) - begin;
  in[1] += seconds(CLOCK_THREAD_CPUTIME_ID) - used;
}

int main(int argc, char** argv) {
  int rank = 0, provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int steps = argc > 1 ? atoi(argv[1]) : 40;
  double mine[3] = {0, 0, 0}, sums[3]; /* in all-reduces, processor time there, computed beside */
  pthread_t beside;
  pthread_create(&beside, NULL, compute, &mine[2]);
  const double begin = seconds(CLOCK_MONOTONIC);
  for (int i = 0; i < steps; ++i) step(rank, mine);
  const double elapsed = seconds(CLOCK_MONOTONIC) - begin;
  ends = 1;
  pthread_join(beside, NULL);
  MPI_Reduce(mine, sums, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf(
        "%d steps in %.3f s; early ranks took %.1f %% of a core in all-reduces; "
        "computed beside them: %.0f a second\n",
        steps, elapsed, 100 * sums[1] / sums[0], sums[2] / elapsed);
  }
  return MPI_Finalize();
}
