/* Which MPI library a process uses: the one that the process's own MPI functions resolve to, known
 * by its SONAME. File names say nothing: a program may open libmpi.so, and an ABI layer may hold a
 * libmpi.so.40 that the program never calls. */
#ifndef LATECOMER_DROPIN_LOADER_MPI_LIBRARY_H
#define LATECOMER_DROPIN_LOADER_MPI_LIBRARY_H

#include <stdint.h>

/* A function of every MPI library that this one does not have. */
#define LATECOMER_PROBE "PMPI_Get_version"

struct mpi_library {
  const char* family; /* a drop-in library is built for it; NULL: for none */
  void* handle;       /* for dlsym(); NULL: there is no MPI library */
  const char* file;
  uintptr_t begin, end; /* its addresses */
  int several;          /* the process holds other MPI libraries too: then family is NULL */
};

/* The MPI library whose functions `caller`, an address in the calling code, would reach without
 * this one. */
struct mpi_library find_mpi_library(const void* caller);

/* The function that `caller` would reach without this library; NULL: there is none. */
void* find_as_caller(const char* name, const void* caller);

/* True in the code of the MPI library or of one of Open MPI's plug-ins, as ROMIO is. */
int is_library_code(const struct mpi_library* library, const void* address);

/* Notes the code around an address: ours, or that of a tool behind us. */
void note_inner_code(void* address);

/* True in the code whose PMPI_ calls are no calls of the program: noted code and the MPI library.
 */
int is_inner_code(const struct mpi_library* library, const void* address);

/* True if MPI libraries are mapped, and none of them exports the symbol. The dynamic linker may be
 * at work: it is not called. */
int no_mpi_library_has(const char* symbol);

#endif
