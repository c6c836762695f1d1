/* dropin_cases_FAMILY [NAME...]: runs the cases of these names, else all. Rank 0 prints a line for
 * each: its name, and the number of mistakes of all ranks. Exits 1 if there were any. The first
 * word may say how MPI is begun: --fortran, --f08, --threads for MPI_THREAD_MULTIPLE, or
 * --sessions, with which no case is run. With --before and --outside the program is wrong: it makes
 * a call before MPI_Init or after MPI_Finalize. With --after-main cases are run in main and once
 * more after it, where MPI is ended. */
#include <unistd.h>

#include "cases.h"

static int counted[2000];

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
    LIBRARY(Allreduce)(MPI_IN_PLACE, &mistakes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (at.rank == 0) printf("%s: %d\n", cases->name, mistakes);
    fflush(stdout);
    all += mistakes;
  }
  return all;
}

#ifdef WITH_FORTRAN
void mpi_init_(MPI_Fint*);
#endif
/* With mpi_f08 of MPICH and its relatives. */
#ifdef MPICH_VERSION
void mpi_init_f08_(MPI_Fint*) __attribute__((weak));
void mpi_finalize_f08_(MPI_Fint*) __attribute__((weak));
static int began_with_f08;
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
#ifdef MPICH_VERSION
  } else if (strcmp(how, "--f08") == 0 && mpi_init_f08_ != NULL) {
    MPI_Fint error = -1;
    mpi_init_f08_(&error);
    began_with_f08 = error == MPI_SUCCESS;
#endif
  } else {
    MPI_Init(argc, argv);
    return;
  }
  --*argc;
  ++*argv;
}

#if MPI_VERSION >= 4
/* A program of MPI 4 that never calls MPI_Init. */
static int run_in_session(void) {
  enum { count = 1000 };
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  int in[count], out[count];
  int ranks = 0;
  int mistakes = 0;
  for (int i = 0; i < count; ++i) in[i] = i;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "case", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_size(comm, &ranks);
  MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < count; ++i) WRONG_IF(out[i] != i * ranks);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  return mistakes;
}
#endif

static int late_argc;
static char** late_argv;

/* As the destructor of a static object of C++ that ends MPI. */
static void after_main(void) {
  struct where at;
  MPI_Comm_rank(MPI_COMM_WORLD, &at.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &at.ranks);
  const int mistakes = run(data_cases, at, late_argc, late_argv);
  MPI_Finalize();
  if (mistakes != 0) _exit(1);
}

int main(int argc, char** argv) {
  struct where at;
#if MPI_VERSION >= 4
  if (argc > 1 && strcmp(argv[1], "--sessions") == 0) return run_in_session() != 0;
#endif
  const int outside = argc > 1 && strcmp(argv[1], "--outside") == 0;
  const int before = argc > 1 && strcmp(argv[1], "--before") == 0;
  if (before) MPI_Allreduce(MPI_IN_PLACE, counted, 2000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (argc > 1 && strcmp(argv[1], "--after-main") == 0) {
    late_argc = argc;
    late_argv = argv;
    atexit(after_main);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &at.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &at.ranks);
    return run(data_cases, at, argc, argv) != 0;
  }
  begin(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &at.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &at.ranks);
  int mistakes = run(data_cases, at, argc, argv) + run(life_cases, at, argc, argv) +
                 run(fortran_cases, at, argc, argv);
  if (argc > 1) {
    mistakes += run(named_only_cases, at, argc, argv) + run(device_cases, at, argc, argv) +
                run(spelling_cases, at, argc, argv) + run(belongings_cases, at, argc, argv);
  }
#ifdef MPICH_VERSION
  if (began_with_f08) {
    mpi_finalize_f08_(NULL);
    return mistakes != 0;
  }
#endif
  MPI_Finalize();
  if (outside) MPI_Allreduce(MPI_IN_PLACE, counted, 2000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return mistakes != 0;
}
