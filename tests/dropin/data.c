/* Buffers, counts, datatypes and operators: each call beside the MPI library's own. */
#include "cases.h"

enum { most = 40000, repeats = 12 };

static double* fresh(struct where at, int count, int salt) {
  double* const data = malloc(sizeof(double) * (size_t)(count > 0 ? count : 1));
  for (int i = 0; i < count; ++i) data[i] = (double)((i * 7 + at.rank * 13 + salt) % 1000);
  return data;
}

static int differ(const void* ours, const void* theirs, size_t bytes) {
  return memcmp(ours, theirs, bytes) != 0;
}

static const int counts[] = {0, 1, 5, 1000, most};
enum { sizes = sizeof counts / sizeof *counts };

static int reductions(struct where at) {
  int mistakes = 0;
  for (int call = 0; call < sizes * repeats; ++call) {
    const int count = counts[call % sizes];
    const int root = call % at.ranks;
    double* const in = fresh(at, count, call);
    double* const ours = fresh(at, count, 1);
    double* const theirs = fresh(at, count, 1);
    WRONG_IF(MPI_Allreduce(in, ours, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS);
    PMPI_Allreduce(in, theirs, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, sizeof(double) * (size_t)count));
    WRONG_IF(MPI_Reduce(in, ours, count, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD) != MPI_SUCCESS);
    PMPI_Reduce(in, theirs, count, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD);
    WRONG_IF(at.rank == root && differ(ours, theirs, sizeof(double) * (size_t)count));
    free(in);
    free(ours);
    free(theirs);
  }
  return mistakes;
}

static int moves(struct where at) {
  int mistakes = 0;
  for (int call = 0; call < sizes * repeats; ++call) {
    const int count = counts[call % sizes];
    const int root = call % at.ranks;
    const int all = count * at.ranks;
    const size_t bytes = sizeof(double) * (size_t)all;
    double* const in = fresh(at, all, call);
    double* const ours = fresh(at, all, 1);
    double* const theirs = fresh(at, all, 1);
    MPI_Bcast(ours, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    PMPI_Bcast(theirs, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, bytes));
    MPI_Allgather(in, count, MPI_DOUBLE, ours, count, MPI_DOUBLE, MPI_COMM_WORLD);
    PMPI_Allgather(in, count, MPI_DOUBLE, theirs, count, MPI_DOUBLE, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, bytes));
    MPI_Gather(in, count, MPI_DOUBLE, ours, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    PMPI_Gather(in, count, MPI_DOUBLE, theirs, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, bytes));
    MPI_Scatter(in, count, MPI_DOUBLE, ours, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    PMPI_Scatter(in, count, MPI_DOUBLE, theirs, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    WRONG_IF(differ(ours, theirs, bytes));
    free(in);
    free(ours);
    free(theirs);
  }
  return mistakes;
}

const struct named_case data_cases[] = {
    {"reductions", reductions},
    {"moves", moves},
    {NULL, NULL},
};
