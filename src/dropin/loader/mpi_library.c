#define _GNU_SOURCE
#include "mpi_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

static const struct {
  const char* family;
  const char* soname;
} known[] = {
    {"openmpi", "libmpi.so.40"},
    {"mpich", "libmpi.so.12"},   /* and relatives */
    {"mpich", "libmpich.so.12"}, /* Debian's MPICH */
    {"abi", "libmpi_abi.so.1"},  /* of MPI 5, which several libraries offer */
};

/* ---- What a mapped library says of itself ---- */

struct symbols {
  const ElfW(Sym) * all;
  const char* texts;
  const uint32_t* hash; /* GNU's table */
  size_t soname;        /* in texts; 0: it has none */
};

static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info* info) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
      return (const ElfW(Dyn)*)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
  }
  return NULL;
}

static struct symbols symbols_of(const struct dl_phdr_info* info) {
  struct symbols found = {NULL, NULL, NULL, 0};
  const ElfW(Dyn)* entry = dynamic_of(info);
  for (; entry != NULL && entry->d_tag != DT_NULL; ++entry) {
    ElfW(Addr) address = entry->d_un.d_ptr;
    if (address < info->dlpi_addr) address += info->dlpi_addr; /* not relocated in place */
    if (entry->d_tag == DT_SYMTAB) found.all = (const ElfW(Sym)*)address;
    if (entry->d_tag == DT_STRTAB) found.texts = (const char*)address;
    if (entry->d_tag == DT_GNU_HASH) found.hash = (const uint32_t*)address;
    if (entry->d_tag == DT_SONAME) found.soname = entry->d_un.d_val;
  }
  return found;
}

/* True if the library exports the symbol; `without`: the answer where it has no GNU hash table. */
static int exports(const struct dl_phdr_info* info, const char* name, int without) {
  const struct symbols symbols = symbols_of(info);
  if (symbols.all == NULL || symbols.texts == NULL || symbols.hash == NULL) return without;
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
    const ElfW(Sym)* const symbol = &symbols.all[at];
    if ((hash | 1) == (other | 1) && symbol->st_shndx != SHN_UNDEF &&
        strcmp(symbols.texts + symbol->st_name, name) == 0) {
      return 1;
    }
    if ((other & 1) != 0) return 0; /* the last one of its bucket */
  }
}

static const char* soname_of(const struct dl_phdr_info* info) {
  const struct symbols symbols = symbols_of(info);
  return symbols.texts == NULL || symbols.soname == 0 ? "" : symbols.texts + symbols.soname;
}

/* True if the first library was linked with the second one. */
static int needs(const struct dl_phdr_info* info, const char* soname) {
  const struct symbols symbols = symbols_of(info);
  const ElfW(Dyn)* entry = dynamic_of(info);
  for (; entry != NULL && symbols.texts != NULL && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED && strcmp(symbols.texts + entry->d_un.d_val, soname) == 0) {
      return 1;
    }
  }
  return 0;
}

static void find_range(const struct dl_phdr_info* info, struct mpi_library* library) {
  library->begin = UINTPTR_MAX;
  library->end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
    if (begin < library->begin) library->begin = begin;
    if (begin + part->p_memsz > library->end) library->end = begin + part->p_memsz;
  }
}

/* ---- The mapped MPI libraries ---- */

enum { most_libraries = 8 };

struct mapped {
  int count;
  struct dl_phdr_info all[most_libraries];
};

/* It has MPI's functions, and is no tool, which has some of them. */
static int note_library(struct dl_phdr_info* info, size_t size, void* to) {
  struct mapped* const mapped = to;
  (void)size;
  if (mapped->count < most_libraries && exports(info, LATECOMER_PROBE, 0)) {
    mapped->all[mapped->count++] = *info;
  }
  return 0;
}

static struct mapped map_libraries(void) {
  struct mapped mapped;
  memset(&mapped, 0, sizeof mapped);
  dl_iterate_phdr(note_library, &mapped);
  return mapped;
}

/* Open MPI 5 and MPICH may split a library: a part that another part is linked with is no second
 * MPI library. */
static int are_parts(const struct dl_phdr_info* one, const struct dl_phdr_info* other) {
  return needs(one, soname_of(other)) || needs(other, soname_of(one));
}

static const char* family_of(const char* soname) {
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    if (strcmp(soname, known[i].soname) == 0) return known[i].family;
  }
  return NULL;
}

/* ---- What callers reach ---- */

/* The module of the address, for dlsym(); NULL: the program, which sees what all see. */
static void* module_of(const void* address) {
  Dl_info info;
  struct link_map* map = NULL;
  if (dladdr1(address, &info, (void**)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) return NULL;
  if (map->l_name == NULL || *map->l_name == '\0') return NULL;
  void* const module = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
  if (module != NULL) dlclose(module); /* it stays: its code has called */
  return module;
}

/* Names are searched among those that all see first, then among those that the caller was linked
 * with, as the dynamic linker does. */
static void* search(void* all, const char* name, const void* caller) {
  void* const found = dlsym(all, name);
  if (found != NULL) return found;
  void* const module = module_of(caller);
  return module != NULL ? dlsym(module, name) : NULL;
}

void* find_as_caller(const char* name, const void* caller) {
  return search(RTLD_NEXT, name, caller);
}

struct mpi_library find_mpi_library(const void* caller) {
  struct mpi_library library;
  memset(&library, 0, sizeof library);
  const void* const probe = search(RTLD_DEFAULT, LATECOMER_PROBE, caller);
  Dl_info info;
  if (probe == NULL || dladdr(probe, &info) == 0) return library;
  library.file = info.dli_fname;
  library.handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  const struct mapped mapped = map_libraries();
  const struct dl_phdr_info* own = NULL;
  for (int i = 0; i < mapped.count; ++i) {
    find_range(&mapped.all[i], &library);
    own = &mapped.all[i];
    if (library.begin <= (uintptr_t)probe && (uintptr_t)probe < library.end) break;
    own = NULL;
  }
  if (own == NULL) return library;
  for (int i = 0; i < mapped.count; ++i) {
    if (&mapped.all[i] != own && !are_parts(own, &mapped.all[i])) library.several = 1;
  }
  if (!library.several) library.family = family_of(soname_of(own));
  return library;
}

int no_mpi_library_has(const char* symbol) {
  const struct mapped mapped = map_libraries();
  for (int i = 0; i < mapped.count; ++i) {
    if (exports(&mapped.all[i], symbol, 1)) return 0;
  }
  return mapped.count > 0;
}

/* ---- Code ---- */

static struct range {
  uintptr_t begin, end;
} inner[12];
static int inner_count;

static int is_within(const void* address, uintptr_t begin, uintptr_t end) {
  return (uintptr_t)address - begin < end - begin;
}

int is_library_code(const struct mpi_library* library, const void* address) {
  if (is_within(address, library->begin, library->end)) return 1;
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == NULL) return 0;
  const char* const slash = strrchr(info.dli_fname, '/');
  return strncmp(slash != NULL ? slash + 1 : info.dli_fname, "mca_", 4) == 0;
}

static int note_code_around(struct dl_phdr_info* info, size_t size, void* at) {
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
    if (!is_within(at, begin, begin + part->p_memsz)) continue;
    if (inner_count < (int)(sizeof inner / sizeof *inner)) {
      inner[inner_count++] = (struct range){begin, begin + part->p_memsz};
    }
    return 1;
  }
  return 0;
}

void note_inner_code(void* address) { dl_iterate_phdr(note_code_around, address); }

int is_inner_code(const struct mpi_library* library, const void* address) {
  if (is_within(address, library->begin, library->end)) return 1;
  for (int i = 0; i < inner_count; ++i) {
    if (is_within(address, inner[i].begin, inner[i].end)) return 1;
  }
  return 0;
}
