/* latecomer.h: plans and programs of collectives, their verification and simulation, without MPI.
 *
 *     #include <stdio.h>
 *     #include <latecomer/latecomer.h>
 *
 *     int main(void) {
 *       const double arrivals[4] = {0, 0, 5e-3, 0};
 *       double exits[4];
 *       latecomer_problem problem = {.collective = "allreduce", .algorithm = "sorted_linear_tree",
 *                                    .ranks = 4, .count = 1 << 20, .element_bytes = 4,
 *                                    .commutative = 1, .arrivals = arrivals};
 *       if (latecomer_simulate(&problem, exits) != 0) return puts(latecomer_last_error()), 1;
 *       printf("rank 0 leaves after %.1f ms\n", 1e3 * exits[0]);
 *       return 0;
 *     }
 *
 * Link with liblatecomer_core.so, or liblatecomer_core.a, -lstdc++ and -lm (docs/install.md).
 *
 * Functions that return int return 0, or -1 after an error, which latecomer_last_error() describes.
 * Texts that they return through a pointer belong to the caller, who frees them with
 * latecomer_free(). */
#ifndef LATECOMER_LATECOMER_H
#define LATECOMER_LATECOMER_H

#include <stdint.h>

#if defined(__GNUC__)
#define LATECOMER_API __attribute__((visibility("default")))
#else
#define LATECOMER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* One call of a collective, and the algorithm for it. Counts are numbers of elements. */
typedef struct latecomer_problem {
  const char* collective; /* "allreduce", "allgather", "reduce", "bcast", "gather", "scatter" */
  const char* algorithm;  /* "ring", "sorted_linear_tree:segments=64", ...  */
  int32_t ranks;          /* from 1 up */
  int64_t count;          /* of the whole vector, from 0 up */
  int64_t element_bytes;  /* size of an element, from 1 up */
  int32_t commutative;    /* 1: the operator commutes */
  int32_t in_place;       /* 1: input and output are one buffer */
  const double* arrivals; /* seconds, one for each rank; NULL: all arrive together */
  const char* network;    /* "alpha=50us,beta=8ns,gamma=0.1ns"; NULL: the built-in costs */
  int32_t exact;          /* 1: the operator gives the same bits in whatever order: bitwise ones */
  int32_t root;           /* of rooted collectives; 0 for others */
  const int64_t* parts;   /* elements of each rank's part; NULL: as equal as possible */
} latecomer_problem;

/* Returns the version of the library, as in "0.1.0". */
LATECOMER_API const char* latecomer_version(void);

/* Returns the message of this thread's last error; "" if there was none. It is valid until the
 * thread's next call of the library. */
LATECOMER_API const char* latecomer_last_error(void);

/* Lists the algorithms as a JSON array of objects with name, collective, arrival_aware, parameters,
 * cost and more. */
LATECOMER_API int latecomer_algorithms(char** json);

/* Makes the plan that all ranks share, as text. Fails if the algorithm refuses the problem. */
LATECOMER_API int latecomer_plan(const latecomer_problem* problem, char** text);

/* Makes the program of one rank, or of all ranks if rank is -1, as text. Fails if the algorithm
 * refuses the problem or decides while it runs. */
LATECOMER_API int latecomer_program(const latecomer_problem* problem, int32_t rank, char** text);

/* Checks the programs of all ranks or, of an algorithm that decides while it runs, what its ranks
 * do in one call on the virtual network with these arrivals. Sets *counterexample to NULL if they
 * are right, else to a text that names the broken rule. */
LATECOMER_API int latecomer_verify(const latecomer_problem* problem, char** counterexample);

/* Checks a text that holds a plan and then the programs of all its ranks, as latecomer_verify
 * does. */
LATECOMER_API int latecomer_verify_text(const char* text, char** counterexample);

/* Runs the programs on the virtual network. Sets exits[r] to the exit of rank r in seconds, on the
 * clock of `arrivals`; `exits` has room for all ranks. */
LATECOMER_API int latecomer_simulate(const latecomer_problem* problem, double* exits);

/* Frees a text that one of these functions returned. NULL is allowed. */
LATECOMER_API void latecomer_free(char* text);

#ifdef __cplusplus
}
#endif

#endif /* LATECOMER_LATECOMER_H */
