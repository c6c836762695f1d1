/* Conjugate gradients for least squares, an MPI program that knows nothing of latecomer.
 *
 *     mpicc cg.c -o cg -lm
 *     mpirun -n 4 ./cg 60 60 20      60 steps; a step computes 60 ms on rank 1, 20 ms on the others
 *
 * Finds the x of fewest errors in A x = b (CGLS), as in tomography: the ranks hold the
 * measurements, which are the rows of A, and all have the whole x of 131072 numbers. Each step
 * needs A' A p, which is the sum over the ranks of their rows' parts: one all-reduce of 1 MiB. A
 * step also has an all-reduce of 8 bytes. The rows are sparse, and their work short, so that hosts
 * that share cores do not disturb each other; the rest of a host's work is a pause, longer on the
 * slow host. With four ranks a host give the name of the host that is slow: `./cg 60 60 20 node1`.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { unknowns = 1 << 17, entries = 5, all_rows = unknowns + unknowns / 4 };

static double x[unknowns], p[unknowns], part[unknowns], sum[unknowns];
static int first, rows; /* of this rank */

static int column(int row, int k) {
  return (int)(((unsigned)row + (unsigned)k * (unsigned)k * 4099u) % unknowns);
}
static double entry(int k) { return k == 0 ? 2.1 : -1.0 / k; }

/* y = A v for this rank's rows. */
static void apply(const double* v, double* y) {
  for (int i = 0; i < rows; ++i) {
    y[i] = 0;
    for (int k = 0; k < entries; ++k) y[i] += entry(k) * v[column(first + i, k)];
  }
}

/* result = A' y, the sum over the ranks. */
static void apply_transposed(const double* y, double* result) {
  memset(part, 0, sizeof part);
  for (int i = 0; i < rows; ++i) {
    for (int k = 0; k < entries; ++k) part[column(first + i, k)] += entry(k) * y[i];
  }
  MPI_Allreduce(part, result, unknowns, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static double dot(const double* a, const double* b, int n) {
  double value = 0;
  for (int i = 0; i < n; ++i) value += a[i] * b[i];
  return value;
}

static double over_ranks(double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

static void pause_ms(double ms) {
  const struct timespec time = {(time_t)(ms / 1000), (long)(fmod(ms, 1000) * 1e6)};
  nanosleep(&time, NULL);
}

static int is_slow(int rank, const char* host) {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(name, &length);
  return host != NULL ? strcmp(name, host) == 0 : rank == 1;
}

int main(int argc, char** argv) {
  int rank = 0, ranks = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int steps = argc > 1 ? atoi(argv[1]) : 40;
  const double slow_ms = argc > 2 ? atof(argv[2]) : 60, ms = argc > 3 ? atof(argv[3]) : 20;
  const double work_ms = is_slow(rank, argc > 4 ? argv[4] : NULL) ? slow_ms : ms;
  first = (int)((long)all_rows * rank / ranks);
  rows = (int)((long)all_rows * (rank + 1) / ranks) - first;
  double* const residual = malloc(sizeof(double) * (size_t)rows);
  double* const q = malloc(sizeof(double) * (size_t)rows);
  for (int i = 0; i < rows; ++i) residual[i] = (first + i) % 17 - 8; /* b, since x = 0 */
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  apply_transposed(residual, sum);
  memcpy(p, sum, sizeof p);
  double gamma = dot(sum, sum, unknowns);
  const double at_first = gamma;
  for (int step = 0; step < steps && gamma > 0; ++step) {
    apply(p, q);
    const double alpha = gamma / over_ranks(dot(q, q, rows));
    for (int i = 0; i < unknowns; ++i) x[i] += alpha * p[i];
    for (int i = 0; i < rows; ++i) residual[i] -= alpha * q[i];
    pause_ms(work_ms);
    apply_transposed(residual, sum);
    const double next = dot(sum, sum, unknowns);
    for (int i = 0; i < unknowns; ++i) p[i] = sum[i] + next / gamma * p[i];
    gamma = next;
  }
  const double seconds = MPI_Wtime() - begin;
  const double misfit = sqrt(over_ranks(dot(residual, residual, rows)));
  if (rank == 0) {
    printf("%d steps in %.3f s, gradient %.3e of the first, misfit %.10f\n", steps, seconds,
           sqrt(gamma / at_first), misfit);
  }
  free(residual);
  free(q);
  return MPI_Finalize();
}
