/* The loader: one library for LD_PRELOAD, whichever MPI library the program uses. It knows no MPI
 * and needs none. Its functions have the names of MPI's; the first one that is called finds the MPI
 * library in the process, and loads the drop-in library that was built for it. From then on each
 * function jumps on with its arguments unchanged, which works as long as arguments are integers or
 * pointers, for handles of either kind.
 *
 * Short calls, which the drop-in library would leave to the MPI library anyway, go there at once
 * (short_calls.h).
 *
 * Where there is no drop-in library for the MPI library, and with LATECOMER=off, functions jump on
 * to the next library that has them: a PMPI tool, or the MPI library itself. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "short_calls.h"

#define PUBLIC __attribute__((visibility("default")))

/* ---- The MPI library ---- */

struct family {
  const char* name;
  const char* library; /* the begin of the file's name */
};

static const struct family families[] = {
    {"openmpi", "libmpi.so.40"},
    {"mpich", "libmpi.so.12"},
    {"mpich", "libmpich.so.12"}, /* Debian's MPICH */
    {"abi", "libmpi_abi.so.1"},  /* of MPI 5, which several libraries offer */
};

struct found {
  const struct family* family;
  struct dl_phdr_info info;
};

static int is_mpi(struct dl_phdr_info* info, size_t size, void* to) {
  struct found* const found = to;
  const char* const slash = info->dlpi_name != NULL ? strrchr(info->dlpi_name, '/') : NULL;
  (void)size;
  if (slash == NULL) return 0;
  for (size_t i = 0; i < sizeof families / sizeof *families; ++i) {
    const size_t length = strlen(families[i].library);
    if (strncmp(slash + 1, families[i].library, length) != 0) continue;
    if (slash[1 + length] != '\0' && slash[1 + length] != '.') continue;
    found->family = &families[i];
    found->info = *info;
    return 1;
  }
  return 0;
}

static struct found find_mpi(void) {
  struct found found;
  memset(&found, 0, sizeof found);
  dl_iterate_phdr(is_mpi, &found);
  return found;
}

/* ---- Functions ---- */

typedef void (*function)(void);

/* Each function's place in the table, and its name. */
enum {
#define STUB(name, words) place_##name,
#define LARGE STUB
#define SHORT(name, words, count, type, member) STUB(name, words)
#include "stubs.inc"
  places
};
static const char* const names[places] = {
#undef STUB
#define STUB(name, words) #name,
#include "stubs.inc"
#undef STUB
#undef LARGE
#undef SHORT
};
static function table[places];
/* None is short until the drop-in library is active on all ranks. */
static struct latecomer_short_calls short_calls = {.below = {INT_MIN, INT_MIN, INT_MIN}};
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int ready;

/* Read here as the drop-in library reads it: not in programs with more rights than their caller. */
static int is_off(void) {
  const char* const value = secure_getenv("LATECOMER");
  return value != NULL && strcmp(value, "off") == 0;
}

/* The next function of the name: a PMPI tool's or the MPI library's. The latter may be visible to
 * the library alone that was linked with it, as to mpi4py. */
static function next(const char* name, void* mpi) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == NULL && mpi != NULL) found = dlsym(mpi, name);
  return (function)found;
}

static void* opened_mpi; /* for next_function() */

static function next_function(const char* name) { return next(name, opened_mpi); }

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
  void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "latecomer: inactive, since there is no drop-in library for this MPI: %s\n",
            dlerror());
  }
  return library;
}

static void fill_table(void) {
  pthread_mutex_lock(&guard);
  if (!ready) {
    const struct found mpi = find_mpi();
    void* family = NULL;
    if (mpi.family != NULL) {
      opened_mpi = dlopen(mpi.info.dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
      if (!is_off()) family = load_family(mpi.family->name);
    }
    if (family != NULL) {
      typedef void (*follower)(function (*)(const char*), struct latecomer_short_calls*);
      const follower follow = (follower)dlsym(family, "latecomer_dropin_follow");
      if (follow != NULL) follow(next_function, &short_calls);
    }
    for (int i = 0; i < places; ++i) {
      void* const own = family != NULL ? dlsym(family, names[i]) : NULL;
      table[i] = own != NULL ? (function)own : next(names[i], opened_mpi);
    }
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&guard);
}

static function find(int place) {
  if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) fill_table();
  if (table[place] == NULL) {
    fprintf(stderr, "latecomer: %s: the program called, but no MPI library has it\n", names[place]);
    abort();
  }
  return table[place];
}

/* ---- Functions of MPI 4: large counts, persistent collectives ----
 *
 * A program may test by the address whether its MPI library has them. So the address is found when
 * the dynamic linker asks for it, and is null where the MPI library lacks the function. */

struct symbols {
  const ElfW(Sym) * all;
  const char* texts;
  const uint32_t* hash; /* GNU's table */
};

static struct symbols symbols_of(const struct dl_phdr_info* info) {
  struct symbols found = {NULL, NULL, NULL};
  const ElfW(Dyn)* entry = NULL;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
      entry = (const ElfW(Dyn)*)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
  }
  for (; entry != NULL && entry->d_tag != DT_NULL; ++entry) {
    ElfW(Addr) address = entry->d_un.d_ptr;
    if (address < info->dlpi_addr) address += info->dlpi_addr; /* not relocated in place */
    if (entry->d_tag == DT_SYMTAB) found.all = (const ElfW(Sym)*)address;
    if (entry->d_tag == DT_STRTAB) found.texts = (const char*)address;
    if (entry->d_tag == DT_GNU_HASH) found.hash = (const uint32_t*)address;
  }
  return found;
}

/* True if the library exports the symbol, or has no GNU hash table to look it up in. The dynamic
 * linker is at work when this is asked, so it is not called. */
static int exports(const struct dl_phdr_info* info, const char* name) {
  const struct symbols symbols = symbols_of(info);
  if (symbols.all == NULL || symbols.texts == NULL || symbols.hash == NULL) return 1;
  const uint32_t buckets = symbols.hash[0];
  const uint32_t first = symbols.hash[1];
  const ElfW(Addr)* const filter = (const ElfW(Addr)*)(symbols.hash + 4);
  const uint32_t* const bucket = (const uint32_t*)(filter + symbols.hash[2]);
  const uint32_t* const chain = bucket + buckets;
  uint32_t hash = 5381;
  for (const char* c = name; *c != '\0'; ++c) hash = hash * 33 + (unsigned char)*c;
  uint32_t at = buckets == 0 ? 0 : bucket[hash % buckets];
  if (at < first) return 0;
  for (;; ++at) {
    const uint32_t other = chain[at - first];
    if ((hash | 1) == (other | 1) && strcmp(symbols.texts + symbols.all[at].st_name, name) == 0) {
      return 1;
    }
    if ((other & 1) != 0) return 0; /* the last one of its bucket */
  }
}

/* The address of this variable, once this library is relocated. Before that nothing outside it can
 * be used; then the function counts as there. */
static const void* volatile self = (const void*)&self;

static int lacks(const char* symbol) {
  if (self != (const void*)&self) return 0;
  const struct found mpi = find_mpi();
  return mpi.family != NULL && !exports(&mpi.info, symbol);
}

/* ---- The functions that programs call ---- */

#define TYPES0 void
#define TYPES1 long a
#define TYPES2 TYPES1, long b
#define TYPES3 TYPES2, long c
#define TYPES4 TYPES3, long d
#define TYPES5 TYPES4, long e
#define TYPES6 TYPES5, long f
#define TYPES7 TYPES6, long g
#define TYPES8 TYPES7, long h
#define TYPES9 TYPES8, long i
#define TYPES10 TYPES9, long j
#define WORDS0
#define WORDS1 a
#define WORDS2 WORDS1, b
#define WORDS3 WORDS2, c
#define WORDS4 WORDS3, d
#define WORDS5 WORDS4, e
#define WORDS6 WORDS5, f
#define WORDS7 WORDS6, g
#define WORDS8 WORDS7, h
#define WORDS9 WORDS8, i
#define WORDS10 WORDS9, j

static inline int is_short(long count, long type) {
  for (int i = 0; i < latecomer_common_types; ++i) {
    if ((((uintptr_t)type ^ short_calls.types[i]) << short_calls.unused_bits) != 0) continue;
    return (int)count < __atomic_load_n(&short_calls.below[i], __ATOMIC_ACQUIRE);
  }
  return 0;
}

/* The first call is apart, so that all others are a jump. */
#define JUMP(name, own, words)                                                   \
  static __attribute__((noinline, cold)) long first_##name(TYPES##words) {       \
    return ((long (*)(TYPES##words))find(place_##name))(WORDS##words);           \
  }                                                                              \
  long own(TYPES##words) {                                                       \
    const function to = __atomic_load_n(&table[place_##name], __ATOMIC_ACQUIRE); \
    if (__builtin_expect(to == NULL, 0)) return first_##name(WORDS##words);      \
    return ((long (*)(TYPES##words))to)(WORDS##words);                           \
  }
#define STUB(name, words)         \
  PUBLIC long name(TYPES##words); \
  JUMP(name, name, words)
#define SHORT(name, words, count, type, member)                        \
  static long jump_##name(TYPES##words);                               \
  PUBLIC long name(TYPES##words) {                                     \
    if (!is_short(count, type)) return jump_##name(WORDS##words);      \
    return ((long (*)(TYPES##words))short_calls.member)(WORDS##words); \
  }                                                                    \
  JUMP(name, jump_##name, words)
#define LARGE(name, words)                               \
  static long jump_##name(TYPES##words);                 \
  JUMP(name, jump_##name, words)                         \
  static long (*address_of_##name(void))(TYPES##words) { \
    return lacks(#name) ? NULL : jump_##name;            \
  }                                                      \
  PUBLIC long name(TYPES##words) __attribute__((ifunc("address_of_" #name)));
#include "stubs.inc"
