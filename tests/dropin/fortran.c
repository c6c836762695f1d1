/* Calls as Fortran programs make them: the bindings of Open MPI, which pass MPI's C functions by.
 * No Fortran compiler is needed: names and arguments are those that it would make. */
#include "cases.h"

#ifdef WITH_FORTRAN

void mpi_allreduce_(void*, void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_allreduce_f08_(void*, void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_bcast_(void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_barrier_(MPI_Fint*, MPI_Fint*);
void mpi_comm_dup_(MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_comm_free_(MPI_Fint*, MPI_Fint*);
extern MPI_Fint mpi_fortran_in_place_;
extern MPI_Fint mpi_fortran_bottom_;

enum { count = 1500 };

static int fortran_calls(struct where at) {
  int mistakes = 0;
  static double in[count], ours[count], theirs[count];
  MPI_Fint number = count;
  MPI_Fint type = MPI_Type_c2f(MPI_DOUBLE);
  MPI_Fint op = MPI_Op_c2f(MPI_SUM);
  MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD);
  MPI_Fint error = -1;
  for (int call = 0; call < 20; ++call) {
    for (int i = 0; i < count; ++i) in[i] = i + at.rank * call;
    LIBRARY(Allreduce)(in, theirs, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    mpi_allreduce_(in, ours, &number, &type, &op, &world, &error);
    WRONG_IF(error != MPI_SUCCESS || memcmp(ours, theirs, sizeof ours) != 0);
    memcpy(ours, in, sizeof ours);
    mpi_allreduce_(&mpi_fortran_in_place_, ours, &number, &type, &op, &world, &error);
    WRONG_IF(error != MPI_SUCCESS || memcmp(ours, theirs, sizeof ours) != 0);
    memcpy(ours, in, sizeof ours);
    mpi_allreduce_f08_(&mpi_fortran_in_place_, ours, &number, &type, &op, &world, NULL);
    WRONG_IF(memcmp(ours, theirs, sizeof ours) != 0);
  }
  return mistakes;
}

/* MPI_BOTTOM with a type that holds addresses. */
static int fortran_bottom(struct where at) {
  int mistakes = 0;
  static double data[count];
  MPI_Aint address = 0;
  MPI_Datatype absolute = MPI_DATATYPE_NULL;
  MPI_Get_address(data, &address);
  const int length = count;
  const MPI_Datatype doubles = MPI_DOUBLE;
  MPI_Type_create_struct(1, &length, &address, &doubles, &absolute);
  MPI_Type_commit(&absolute);
  MPI_Fint one = 1;
  MPI_Fint root = 0;
  MPI_Fint type = MPI_Type_c2f(absolute);
  MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD);
  MPI_Fint error = -1;
  for (int i = 0; i < count; ++i) data[i] = at.rank == 0 ? i : -1;
  mpi_bcast_(&mpi_fortran_bottom_, &one, &type, &root, &world, &error);
  WRONG_IF(error != MPI_SUCCESS || data[count - 1] != count - 1);
  MPI_Type_free(&absolute);
  return mistakes;
}

static int fortran_communicators(struct where at) {
  int mistakes = 0;
  (void)at;
  MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD);
  MPI_Fint made = -1;
  MPI_Fint error = -1;
  mpi_comm_dup_(&world, &made, &error);
  int same = -1;
  MPI_Comm_compare(MPI_COMM_WORLD, MPI_Comm_f2c(made), &same);
  WRONG_IF(error != MPI_SUCCESS || same != MPI_CONGRUENT);
  mpi_barrier_(&made, &error);
  WRONG_IF(error != MPI_SUCCESS);
  mpi_comm_free_(&made, &error);
  return mistakes;
}

#endif

const struct named_case fortran_cases[] = {
#ifdef WITH_FORTRAN
    {"fortran_calls", fortran_calls},
    {"fortran_bottom", fortran_bottom},
    {"fortran_communicators", fortran_communicators},
#endif
    {NULL, NULL},
};
