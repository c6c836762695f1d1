/* Programs that know nothing of latecomer, run with and without the drop-in library. MPI_X and
 * PMPI_X are what a program calls, and may be ours; LIBRARY(X) is the MPI library's own, and says
 * what is right. */
#ifndef CASES_H
#define CASES_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct where {
  int rank;
  int ranks;
};

/* Each case returns the number of its mistakes on this rank. */
typedef int (*case_function)(struct where at);
struct named_case {
  const char* name;
  case_function run;
};

extern const struct named_case data_cases[]; /* buffers, counts, datatypes, operators */
extern const struct named_case life_cases[]; /* communicators, errors, threads */
extern const struct named_case named_only_cases[];
extern const struct named_case fortran_cases[];    /* as Fortran programs call */
extern const struct named_case device_cases[];     /* memory of a device; by name only */
extern const struct named_case spelling_cases[];   /* by name only */
extern const struct named_case belongings_cases[]; /* files, limits; by name only */

/* The MPI library's own function: LIBRARY(Allreduce)(in, out, ...). */
#define LIBRARY(name) ((__typeof__(&PMPI_##name))function_of_library("PMPI_" #name))
void (*function_of_library(const char* name))(void);

/* Counts and reports a mistake. */
#define WRONG_IF(condition)                                                  \
  do {                                                                       \
    if (condition) {                                                         \
      fprintf(stderr, "%s:%d: wrong: %s\n", __FILE__, __LINE__, #condition); \
      ++mistakes;                                                            \
    }                                                                        \
  } while (0)

#endif
