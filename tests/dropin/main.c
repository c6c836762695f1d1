/* dropin_cases_FAMILY [NAME...]: runs the cases of these names, else all. Rank 0 prints a line for
 * each: its name, and the number of mistakes of all ranks. Exits 1 if there were any. The first
 * word may say how MPI is begun: --fortran, or --threads for MPI_THREAD_MULTIPLE. */
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

#ifdef WITH_FORTRAN
void mpi_init_(MPI_Fint*);
#endif

/* Drops the word that says how. */
static void begin(int* argc, char*** argv) {
  const char* const how = *argc > 1 ? (*argv)[1] : "";
  int level = MPI_THREAD_SINGLE;
  if (strcmp(how, "--threads") == 0) {
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
#ifdef WITH_FORTRAN
  } else if (strcmp(how, "--fortran") == 0) {
    MPI_Fint error = 0;
    mpi_init_(&error);
#endif
  } else {
    MPI_Init(argc, argv);
    return;
  }
  --*argc;
  ++*argv;
}

int main(int argc, char** argv) {
  struct where at;
  begin(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &at.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &at.ranks);
  int mistakes = run(data_cases, at, argc, argv) + run(life_cases, at, argc, argv) +
                 run(fortran_cases, at, argc, argv);
  if (argc > 1) mistakes += run(named_only_cases, at, argc, argv);
  MPI_Finalize();
  return mistakes != 0;
}
