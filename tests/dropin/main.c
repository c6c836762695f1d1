/* dropin_cases_FAMILY [NAME...]: runs the cases of these names, else all. Rank 0 prints a line for
 * each: its name, and the number of mistakes of all ranks. Exits 1 if there were any. */
#include "cases.h"

static int wanted(const char* name, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], name) == 0) return 1;
  }
  return argc == 1;
}

static int run(const struct named_case* cases, struct where at, int argc, char** argv) {
  int all = 0;
  for (; cases->name != NULL; ++cases) {
    if (!wanted(cases->name, argc, argv)) continue;
    int mistakes = cases->run(at);
    PMPI_Allreduce(MPI_IN_PLACE, &mistakes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (at.rank == 0) printf("%s: %d\n", cases->name, mistakes);
    fflush(stdout);
    all += mistakes;
  }
  return all;
}

int main(int argc, char** argv) {
  struct where at;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &at.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &at.ranks);
  int mistakes = run(data_cases, at, argc, argv);
  MPI_Finalize();
  return mistakes != 0;
}
