/* Makes the ranks of an unmodified MPI program arrive apart: preloaded in front of the drop-in
 * library, it sleeps before collectives, and then calls the next function of the name, which is the
 * drop-in library's.
 *
 *     cc -shared -fPIC arrivals.c -o arrivals.so             add -DLARGE_COUNTS for MPI 4
 *     LD_PRELOAD="arrivals.so liblatecomer_preload.so" ARRIVALS=last:2:300:1 ./app
 *
 * ARRIVALS=KIND:RANK:MICROSECONDS:SEED. Kinds: `last`, this rank sleeps; `first`, all others sleep;
 * `random`, each rank sleeps for a time of its own up to the one given. In each kind a rank sleeps
 * before one call of four, on average. It knows no MPI: arguments are passed on as machine words.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void (*function)(void);

static char kind[8];
static int chosen, self;
static long most_us;
static uint64_t seed;
static atomic_ulong calls;

static uint64_t mixed(uint64_t x) { /* splitmix64 */
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

__attribute__((constructor)) static void begin(void) {
  static const char* const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
  const char* const text = getenv("ARRIVALS");
  const char* rank = NULL;
  for (int i = 0; i < 3 && rank == NULL; ++i) rank = getenv(names[i]);
  if (text == NULL || rank == NULL) return;
  self = atoi(rank);
  if (sscanf(text, "%7[a-z]:%d:%ld:%lu", kind, &chosen, &most_us, &seed) != 4) {
    fprintf(stderr, "ARRIVALS: '%s' is not used; right would be KIND:RANK:MICROSECONDS:SEED\n",
            text);
    kind[0] = '\0';
  }
}

static void arrive(void) {
  if (kind[0] == '\0') return;
  const uint64_t call = atomic_fetch_add(&calls, 1);
  const uint64_t drawn = mixed(mixed(seed * 4096 + (uint64_t)self) + call);
  if (drawn % 4 != 0) return;
  long us = most_us;
  if (strcmp(kind, "last") == 0 && self != chosen) return;
  if (strcmp(kind, "first") == 0 && self == chosen) return;
  if (strcmp(kind, "random") == 0) us = (long)((drawn >> 8) % (uint64_t)(most_us + 1));
  const struct timespec time = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&time, NULL);
}

static function next(const char* name) {
  const function found = (function)dlsym(RTLD_NEXT, name);
  if (found != NULL) return found;
  fprintf(stderr, "%s: no library behind arrivals.so has it\n", name);
  abort();
}

#define TYPES5 long a, long b, long c, long d, long e
#define TYPES6 TYPES5, long f
#define TYPES7 TYPES6, long g
#define TYPES8 TYPES7, long h
#define TYPES9 TYPES8, long i
#define WORDS5 a, b, c, d, e
#define WORDS6 WORDS5, f
#define WORDS7 WORDS6, g
#define WORDS8 WORDS7, h
#define WORDS9 WORDS8, i

#define LATE(name, words)                                   \
  long name(TYPES##words);                                  \
  long name(TYPES##words) {                                 \
    static _Atomic(function) known;                         \
    function to = atomic_load(&known);                      \
    if (to == NULL) atomic_store(&known, to = next(#name)); \
    arrive();                                               \
    return ((long (*)(TYPES##words))to)(WORDS##words);      \
  }
/* A function in C, and in Fortran with one more argument. */
#define LATE_IN_BOTH(name, words, fortran, fortran_words) \
  LATE(MPI_##name, words)                                 \
  LATE(mpi_##fortran##_, fortran_words)                   \
  LATE(mpi_##fortran##_f08_, fortran_words)

LATE_IN_BOTH(Allreduce, 6, allreduce, 7)
LATE_IN_BOTH(Reduce, 7, reduce, 8)
LATE_IN_BOTH(Bcast, 5, bcast, 6)
LATE_IN_BOTH(Allgather, 7, allgather, 8)
LATE_IN_BOTH(Allgatherv, 8, allgatherv, 9)
LATE_IN_BOTH(Gather, 8, gather, 9)
LATE_IN_BOTH(Scatter, 8, scatter, 9)
#ifdef LARGE_COUNTS
LATE(MPI_Allreduce_c, 6)
LATE(MPI_Reduce_c, 7)
LATE(MPI_Bcast_c, 5)
LATE(MPI_Allgather_c, 7)
LATE(MPI_Allgatherv_c, 8)
LATE(MPI_Gather_c, 8)
LATE(MPI_Scatter_c, 8)
#endif
