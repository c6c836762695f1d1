/* latecomer.h: plans, programs and their verification, without MPI.
 *
 * Functions that return int give 0 on success and -1 on an error that latecomer_last_error()
 * describes. Texts returned by pointer belong to the caller: latecomer_free(). */
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

/* What a collective is asked to do. Counts are elements of the whole vector. */
typedef struct latecomer_problem {
  const char* collective; /* "allreduce", "allgather", "reduce", "bcast", "gather", "scatter" */
  const char* algorithm;  /* "ring", "sorted_linear_tree:segments=64", ...  */
  int32_t ranks;          /* >= 1 */
  int64_t count;          /* >= 0 */
  int64_t element_bytes;  /* >= 1 */
  int32_t commutative;    /* 0 or 1 */
  int32_t in_place;       /* 0 or 1 */
  const double* arrivals; /* seconds, one a rank; NULL: all arrive together */
  const char* network;    /* "alpha=50us,beta=8ns,gamma=0.1ns"; NULL: the default */
  int32_t exact;          /* 0 or 1: the operator gives the same bits in whatever order */
  int32_t root;           /* of rooted collectives; 0 for others */
  const int64_t* parts;   /* elements of each rank's part; NULL: as equal as can be */
} latecomer_problem;

LATECOMER_API const char* latecomer_version(void);

/* The message of this thread's last error; "" if there was none. Valid until the next call. */
LATECOMER_API const char* latecomer_last_error(void);

/* The registry as a JSON array of objects: name, collective, arrival_aware, parameters, cost, ...
 */
LATECOMER_API int latecomer_algorithms(char** json);

/* The plan that all ranks share, as text. */
LATECOMER_API int latecomer_plan(const latecomer_problem* problem, char** text);

/* One rank's program as text; rank -1: of all ranks. */
LATECOMER_API int latecomer_program(const latecomer_problem* problem, int32_t rank, char** text);

/* Checks the programs of all ranks. *counterexample is NULL if they are right. */
LATECOMER_API int latecomer_verify(const latecomer_problem* problem, char** counterexample);

/* The same for a text that holds a plan followed by the programs of all its ranks. */
LATECOMER_API int latecomer_verify_text(const char* text, char** counterexample);

/* Runs the programs on the virtual network; exits[r] is rank r's exit in seconds, on the clock of
 * `arrivals`. `exits` has room for all ranks. */
LATECOMER_API int latecomer_simulate(const latecomer_problem* problem, double* exits);

LATECOMER_API void latecomer_free(char* text);

#ifdef __cplusplus
}
#endif

#endif /* LATECOMER_LATECOMER_H */
