#include "dropin/next.hpp"

#include <dlfcn.h>

#include "dropin/hot.hpp"

namespace latecomer {
namespace {

/// The loader's search: it is preloaded, and so it knows which functions come after it. Null if
/// there is no loader.
AnyFunction (*loader)(const char*) = nullptr;

}  // namespace

AnyFunction find_next(const char* name, AnyFunction own) {
  const AnyFunction found =
      loader != nullptr ? loader(name) : reinterpret_cast<AnyFunction>(dlsym(RTLD_NEXT, name));
  return found != nullptr ? found : own;
}

void follow_next() {
  NativeCalls& calls = native_calls;
  calls.allreduce = next("MPI_Allreduce", calls.allreduce);
  calls.reduce = next("MPI_Reduce", calls.reduce);
  calls.bcast = next("MPI_Bcast", calls.bcast);
  calls.allgather = next("MPI_Allgather", calls.allgather);
  calls.allgatherv = next("MPI_Allgatherv", calls.allgatherv);
  calls.gather = next("MPI_Gather", calls.gather);
  calls.scatter = next("MPI_Scatter", calls.scatter);
  calls.sendrecv = next("MPI_Sendrecv", calls.sendrecv);
  hot.native = calls;
}

}  // namespace latecomer

/// Called by the loader, before anything else.
extern "C" __attribute__((visibility("default"))) void latecomer_dropin_follow(
    latecomer::AnyFunction (*find)(const char*)) {
  latecomer::loader = find;
}
