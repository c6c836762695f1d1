// The end of the progress thread before MPI_Finalize.
#include <dlfcn.h>

#include "latecomer/latecomer_mpi.h"
#include "runtime/progress/progress_thread.hpp"

extern "C" {

void latecomer_prepare_finalize(void) { latecomer::prepare_finalize(); }

/// Weak, so that the wrapper of a PMPI tool that is linked statically takes its place.
__attribute__((weak, visibility("default"))) int MPI_Finalize() {
  latecomer::prepare_finalize();
  void* const next = dlsym(RTLD_NEXT, "MPI_Finalize");  // a tool's, or the MPI library's
  return next != nullptr ? reinterpret_cast<int (*)()>(next)() : PMPI_Finalize();
}

}  // extern "C"
