#define _GNU_SOURCE
#include <dlfcn.h>

#include "cases.h"

/* Of the library that has a function which no tool and no drop-in library has. */
void (*function_of_library(const char* name))(void) {
  void* const known = dlsym(RTLD_DEFAULT, "PMPI_Get_version");
  Dl_info info;
  void* library = NULL;
  if (known != NULL && dladdr(known, &info) != 0) {
    library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
  void* const found = library != NULL ? dlsym(library, name) : NULL;
  if (found == NULL) {
    fprintf(stderr, "%s: the MPI library does not have it\n", name);
    abort();
  }
  void (*function)(void);
  *(void**)&function = found;
  return function;
}
