/* The loader: one library for LD_PRELOAD, whichever MPI library the program uses. It knows no MPI
 * and needs none. Its functions have the names of MPI's, MPI_ and PMPI_ alike: one call of MPI is
 * one call, however it is spelled, so tools that come before this library, and programs that are
 * linked with a tool, are served too. The first one that is called finds the MPI library in the
 * process, and loads the drop-in library that was built for it. From then on each function goes on
 * with its arguments unchanged, which works as long as arguments are integers or pointers, for
 * handles of either kind.
 *
 * A PMPI_ function goes straight to the MPI library if the MPI library itself calls, our own
 * library, or a tool behind us, to which our calls go on. So does an MPI_ function that the MPI
 * library calls, as ROMIO does.
 *
 * Short calls, which the drop-in library would leave to the MPI library anyway, go there at once
 * (short_calls.h).
 *
 * There are two of it. The one for traces of messages has the functions for messages, too; so these
 * are untouched where messages are not traced.
 *
 * Where there is no drop-in library for the MPI library, and with LATECOMER=off, functions go on to
 * the one that the caller would have reached without this library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "argument_lists.h"
#include "mpi_library.h"
#include "short_calls.h"

#define PUBLIC __attribute__((visibility("default")))

/* Which functions it has. */
#ifdef LATECOMER_MESSAGES
#define STUBS "stubs_messages.inc"
enum { has_messages = 1 };
#else
#define STUBS "stubs.inc"
enum { has_messages = 0 };
#endif

typedef void (*function)(void);

/* In a program that is linked with latecomer, too, this is how its calls are recorded: with those
 * of MPI. `comm`: of an MPI_Comm; `work` carries out the call. */
typedef int (*latecomer_observer)(const void* comm, const char* collective, long bytes,
                                  const void* site, int (*work)(void*), void* data);
typedef latecomer_observer (*latecomer_observer_finder)(void);
/* Null: nothing is recorded here. After MPI_Init. */
PUBLIC latecomer_observer latecomer_find_observer(void);

/* ---- Functions ---- */

/* Each function's place in the tables, and its names. Stubs of other forms count as plain ones
 * unless they are defined, too; each inclusion ends the definitions. */
enum {
#define STUB(name, words) place_##name,
#include STUBS
  places
};
static const char* const names[places] = {
#define STUB(name, words) "P" #name,
#include STUBS
};
/* In C small letters follow, as in MPI_Barrier. */
static inline int is_of_fortran(int place) {
  return names[place][1] == 'm' || (names[place][6] >= 'A' && names[place][6] <= 'Z');
}
enum spelling { plain, profiling, spellings };

static const char* name_of(int place, enum spelling spelling) {
  return spelling == profiling ? names[place] : names[place] + 1;
}

/* What calls go to: by the program, and on from the drop-in library. */
static function to[spellings][places];
static function on[spellings][places];
/* None is short until the drop-in library is active on all ranks. */
static struct latecomer_short_calls short_calls = {.below = {INT_MIN, INT_MIN, INT_MIN}};
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static struct mpi_library mpi;
static int tools_behind;

/* The call of ours that is under way on this thread: where the program called, how it spelled the
 * call, which function that is, and its frame on the stack. */
struct under_way {
  const void* caller;
  enum spelling spelled;
  int place;
  const char* frame;
};
static __thread struct under_way under_way __attribute__((tls_model("initial-exec")));

/* The one that goes on while another is entered from this frame; none where an exception or a jump
 * has left it. */
static inline struct under_way outer_call(const char* here) {
  static const struct under_way none;
  return here < under_way.frame ? under_way : none;
}

/* At the end of the inner one, by an exception, too. */
static inline void go_on(const struct under_way* outer) { under_way = *outer; }

static const void* call_site(void) { return under_way.caller; }

/* Below this frame a call of latecomer's own functions is under way. */
static __thread const char* observed_frame __attribute__((tls_model("initial-exec")));
static inline void end_observed(const char* const* before) { observed_frame = *before; }

/* Read here as the drop-in library reads it: not in programs with more rights than their caller. */
static int is_off(void) {
  const char* const value = secure_getenv("LATECOMER");
  return value != NULL && strcmp(value, "off") == 0;
}

/* Once for the job, as far as launchers tell which rank this is. */
static void say_inactive(const char* why, const char* value, const char* right) {
  static const char* const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                      "SLURM_PROCID"};
  for (size_t i = 0; i < sizeof ranks / sizeof *ranks; ++i) {
    const char* const rank = getenv(ranks[i]);
    if (rank == NULL) continue;
    if (strcmp(rank, "0") != 0) return;
    break;
  }
  fprintf(stderr, "latecomer: inactive, the MPI library carries out all calls: %s%s%s\n", why,
          value, right);
}

/* The next function of the name: a PMPI tool's or the MPI library's. The latter may be visible to
 * the library alone that was linked with it, as to mpi4py. */
static function next(const char* name, const void* caller) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == NULL && mpi.handle != NULL) found = dlsym(mpi.handle, name);
  return (function)(found != NULL ? found : find_as_caller(name, caller));
}

/* The MPI library's own function behind a PMPI_ name. */
static function behind(const char* name, const void* caller) {
  void* const found = mpi.handle != NULL ? dlsym(mpi.handle, name) : NULL;
  return (function)(found != NULL ? found : find_as_caller(name, caller));
}

/* Fortran's functions that come next are no tool's: they call the program's PMPI_ functions. */
static void note_tools_behind(void) {
  for (int i = 0; i < places; ++i) {
    void* const after = (void*)on[plain][i];
    if (is_of_fortran(i) || after == NULL || is_inner_code(&mpi, after)) continue;
    tools_behind = 1;
    note_inner_code(after);
  }
}

/* Another one comes before, or a drop-in library was preloaded itself: that has the calls. */
static const char own_mark = 1;
extern const char latecomer_loader __attribute__((alias("own_mark"), visibility("default")));
static int is_second(void) {
  return dlsym(RTLD_DEFAULT, "latecomer_loader") != (const void*)&own_mark ||
         dlsym(RTLD_DEFAULT, "latecomer_dropin_follow") != NULL;
}

/* The drop-in library beside this one that was built for the MPI library. */
static void* load_family(const char* name) {
  char path[PATH_MAX];
  Dl_info self;
  if (dladdr(&guard, &self) == 0) return NULL;
  const char* const slash = strrchr(self.dli_fname, '/');
  const int folder = slash != NULL ? (int)(slash - self.dli_fname) : 0;
  const int length = snprintf(path, sizeof path, "%.*s%sliblatecomer_preload_%s.so", folder,
                              self.dli_fname, slash != NULL ? "/" : "", name);
  if (length < 0 || (size_t)length >= sizeof path) return NULL;
  /* Looking a function up takes 3 KiB of stack, which a thread of the program may not have. */
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL && dlsym(RTLD_DEFAULT, LATECOMER_PROBE) == NULL) {
    /* One that is linked with no MPI library, whose name may differ: it needs one that all see. */
    if (dlopen(mpi.file, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL) != NULL) {
      library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
  }
  if (library == NULL) library = dlopen(path, RTLD_LAZY | RTLD_LOCAL); /* this MPI lacks some */
  if (library == NULL) {
    say_inactive("there is no drop-in library for this MPI: ", dlerror(), "");
  }
  return library;
}

static function pass_on(const char* name);
static latecomer_observer_finder observer_of_family;

static void fill_tables(const void* caller) {
  pthread_mutex_lock(&guard);
  if (!ready) {
    mpi = find_mpi_library(caller);
    void* family = NULL;
    if (!is_off() && !is_second() && mpi.handle != NULL) {
      if (mpi.several) {
        say_inactive("the process holds several MPI libraries, among them ", mpi.file,
                     "; right would be one");
      } else if (mpi.family == NULL) {
        say_inactive("'", mpi.file,
                     "' is none that it knows; right would be one with the SONAME libmpi.so.40 "
                     "(Open MPI), libmpi.so.12 (MPICH and relatives) or libmpi_abi.so.1 (MPI 5)");
      } else {
        family = load_family(mpi.family);
      }
    }
    for (int i = 0; i < places; ++i) {
      on[plain][i] = next(name_of(i, plain), caller);
      if (!is_of_fortran(i)) on[profiling][i] = behind(name_of(i, profiling), caller);
    }
    if (family != NULL) {
      typedef void (*follower)(function (*)(const char*), const void* (*)(void),
                               struct latecomer_short_calls*, int);
      const follower follow = (follower)dlsym(family, "latecomer_dropin_follow");
      if (follow != NULL) follow(pass_on, call_site, &short_calls, has_messages);
      observer_of_family = (latecomer_observer_finder)dlsym(family, "latecomer_dropin_observer");
      note_inner_code((void*)follow);
      note_inner_code((void*)&pass_on); /* ours and tools may end in a jump */
      note_tools_behind();
    }
    for (int i = 0; i < places; ++i) {
      const int may_be_own = family != NULL && !is_of_fortran(i);
      void* const own = may_be_own ? dlsym(family, name_of(i, plain)) : NULL;
      if (mpi.several) continue; /* each caller reaches its own */
      for (int spelling = plain; spelling < spellings; ++spelling) {
        const function found = own != NULL ? (function)own : on[spelling][i];
        __atomic_store_n(&to[spelling][i], found, __ATOMIC_RELEASE);
      }
    }
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&guard);
}

static function find(int place, enum spelling spelling, const void* caller) {
  if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) fill_tables(caller);
  function found = to[spelling][place];
  if (found == NULL) found = (function)find_as_caller(name_of(place, spelling), caller);
  if (found == NULL) {
    fprintf(stderr, "latecomer: %s: the program called, but no MPI library has it\n",
            name_of(place, spelling));
    abort();
  }
  return found;
}

/* True in a Fortran function that this library has passed on: it calls one of C for the program. */
static inline int is_within_fortran(const struct under_way* outer, const char* frame) {
  return frame < outer->frame && is_of_fortran(outer->place);
}

/* Where the program called. */
static inline const void* programs_caller(const void* caller, const struct under_way* outer,
                                          const char* frame) {
  return is_within_fortran(outer, frame) ? outer->caller : caller;
}

/* True if a call by PMPI_ goes on to the MPI library. A tool may call from other code than its
 * wrapper's: then the same function of ours is under way. */
static inline int is_inner(int place, const char* here, const void* caller) {
  if (is_within_fortran(&under_way, here)) return 0;
  if (is_inner_code(&mpi, caller) || here < observed_frame) return 1;
  return tools_behind && under_way.place == place && here < under_way.frame;
}

/* True if the MPI library calls, by whichever name, while it carries out another call. */
static inline int is_of_library(const struct under_way* outer, const char* here,
                                const void* caller) {
  if (__builtin_expect(here >= outer->frame, 1) || is_of_fortran(outer->place)) return 0;
  return is_library_code(&mpi, caller);
}

/* The address of this variable, once this library is relocated. Before that nothing outside it can
 * be used; then a function counts as there. */
static const void* volatile self = (const void*)&self;

/* A program may test by the address whether its MPI library has a function of MPI 4 (large counts,
 * persistent collectives). So the address is found when the dynamic linker asks for it, and is null
 * where the MPI library lacks the function. If the caller is bound before this library is relocated
 * (a library linked with -z now), the linker warns, and the function counts as there. MPICH calls
 * the large functions of files itself, so these are always there. */
static int lacks(const char* symbol) {
  return self == (const void*)&self && no_mpi_library_has(symbol);
}

/* ---- The functions that programs call ---- */

static inline int is_short(long count, long type) {
  for (int i = 0; i < latecomer_common_types; ++i) {
    if ((((uintptr_t)type ^ short_calls.types[i]) << short_calls.unused_bits) != 0) continue;
    return (int)count < __atomic_load_n(&short_calls.below[i], __ATOMIC_ACQUIRE);
  }
  return 0;
}

#define FRAME ((const char*)__builtin_frame_address(0))
#define CALLER __builtin_return_address(0)
#define CALL(words, target) ((long (*)(TYPES##words))(target))(WORDS##words)

/* The first call is apart, so that all others are short. */
#define ENTER(name, words, spelling)                                                          \
  static __attribute__((noinline, cold)) long first_##spelling##_##name(                      \
      const void* caller MORE##words) {                                                       \
    return CALL(words, find(place_##name, spelling, caller));                                 \
  }                                                                                           \
  static inline long enter_##spelling##_##name(const char* frame,                             \
                                               const void* caller MORE##words) {              \
    const function target = __atomic_load_n(&to[spelling][place_##name], __ATOMIC_ACQUIRE);   \
    __attribute__((cleanup(go_on))) const struct under_way outer = outer_call(frame);         \
    if (is_of_library(&outer, frame, caller) && on[spelling][place_##name] != NULL) {         \
      return CALL(words, on[spelling][place_##name]);                                         \
    }                                                                                         \
    caller = programs_caller(caller, &outer, frame);                                          \
    under_way = (struct under_way){caller, spelling, place_##name, frame};                    \
    return __builtin_expect(target == NULL, 0) ? first_##spelling##_##name(caller AND##words) \
                                               : CALL(words, target);                         \
  }
/* `shortly`: what is done at once with short calls. */
#define PLAIN(name, own, words, shortly)                 \
  ENTER(name, words, plain)                              \
  long own(TYPES##words) {                               \
    shortly;                                             \
    return enter_plain_##name(FRAME, CALLER AND##words); \
  }
#define PROFILING(name, own, words, shortly)                                                    \
  ENTER(name, words, profiling)                                                                 \
  long own(TYPES##words) {                                                                      \
    shortly;                                                                                    \
    if (is_inner(place_##name, FRAME, CALLER)) return CALL(words, on[profiling][place_##name]); \
    return enter_profiling_##name(FRAME, CALLER AND##words);                                    \
  }
#define STUB(name, words)            \
  PUBLIC long name(TYPES##words);    \
  PUBLIC long P##name(TYPES##words); \
  PLAIN(name, name, words, )         \
  PROFILING(name, P##name, words, )
#define FORTRAN(name, words)      \
  PUBLIC long name(TYPES##words); \
  PLAIN(name, name, words, )
#define SHORT(name, words, count, type, member)                                               \
  PUBLIC long name(TYPES##words);                                                             \
  PUBLIC long P##name(TYPES##words);                                                          \
  PLAIN(name, name, words, if (is_short(count, type)) return CALL(words, short_calls.member)) \
  PROFILING(name, P##name, words,                                                             \
            if (is_short(count, type)) return CALL(words, on[profiling][place_##name]))
#define IF_THERE(name, own, words)                                                           \
  static long (*address_of_##name(void))(TYPES##words) { return lacks(#name) ? NULL : own; } \
  PUBLIC long name(TYPES##words) __attribute__((ifunc("address_of_" #name)));
#define LARGE(name, words)                    \
  static long plain_##name(TYPES##words);     \
  static long profiling_##name(TYPES##words); \
  PLAIN(name, plain_##name, words, )          \
  PROFILING(name, profiling_##name, words, )  \
  IF_THERE(name, plain_##name, words)         \
  IF_THERE(P##name, profiling_##name, words)
#include STUBS

/* ---- From the drop-in library on ---- */

/* As the program spelled the call: a tool between this library and the MPI library sees those by
 * MPI_ alone. */
#define STUB(name, words)                                    \
  static long pass_on_##name(TYPES##words) {                 \
    return CALL(words, on[under_way.spelled][place_##name]); \
  }
#include STUBS
#define STUB(name, words) (function) pass_on_##name,
static const function passes[places] = {
#include STUBS
};

static function pass_on(const char* name) {
  for (int i = 0; i < places; ++i) {
    if (strcmp(name, name_of(i, plain)) == 0) return on[plain][i] != NULL ? passes[i] : NULL;
  }
  return next(name, (const void*)&pass_on);
}

/* ---- Programs that are linked with latecomer ---- */

static int observed(const void* comm, const char* collective, long bytes, const void* site,
                    int (*work)(void*), void* data) {
  __attribute__((cleanup(end_observed))) const char* const before = observed_frame;
  observed_frame = FRAME;
  return observer_of_family()(comm, collective, bytes, site, work, data);
}

latecomer_observer latecomer_find_observer(void) {
  return observer_of_family != NULL && observer_of_family() != NULL ? observed : NULL;
}
