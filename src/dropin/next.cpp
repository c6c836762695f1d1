#include "dropin/next.hpp"

#include <dlfcn.h>

#include <climits>
#include <cstdint>
#include <type_traits>

#include "dropin/fast_path.hpp"
#include "dropin/loader/short_calls.h"
#include "transports/mpi/mpi.hpp"

namespace latecomer {
namespace {

/// The loader's search: it is preloaded, and so it knows which functions come after it. Null if
/// there is no loader.
AnyFunction (*loader)(const char*) = nullptr;
/// The loader's: where the program called from, in the call that is under way on this thread.
const void* (*loaders_call_site)() = nullptr;
/// The loader's; null if there is none.
latecomer_short_calls* short_calls = nullptr;
bool has_messages = true;

template <class Handle>
std::uintptr_t word_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uintptr_t>(handle);
  }
}

/// Fewer elements of so many bytes are a short vector.
int short_below(int size) {
  return static_cast<int>((Count{fast_path.min_bytes} + size - 1) / size);
}

void set_below(int at, int below) {
  __atomic_store_n(&short_calls->below[at], below, __ATOMIC_RELEASE);
}

}  // namespace

AnyFunction find_next(const char* name, AnyFunction own) {
  const AnyFunction found =
      loader != nullptr ? loader(name) : reinterpret_cast<AnyFunction>(dlsym(RTLD_NEXT, name));
  return found != nullptr ? found : own;
}

const void* call_site(const void* caller) {
  return loaders_call_site != nullptr ? loaders_call_site() : caller;
}

bool loader_has_messages() { return has_messages; }

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
  fast_path.native = calls;
}

void pass_short_calls() {
  if (short_calls == nullptr || fast_path.counts) return;
  short_calls->allreduce = reinterpret_cast<AnyFunction>(fast_path.native.allreduce);
  short_calls->reduce = reinterpret_cast<AnyFunction>(fast_path.native.reduce);
  short_calls->bcast = reinterpret_cast<AnyFunction>(fast_path.native.bcast);
  short_calls->unused_bits = static_cast<int>(8 * (sizeof(std::uintptr_t) - sizeof(MPI_Datatype)));
  for (int i = 0; i < latecomer_common_types; ++i) {
    short_calls->types[i] = word_of(fast_path.common[i]);
    set_below(i, short_below(kCommonSizes[i]));
  }
}

void keep_short_calls() {
  if (short_calls == nullptr) return;
  for (int i = 0; i < latecomer_common_types; ++i) set_below(i, INT_MIN);
}

}  // namespace latecomer

/// Called by the loader, before anything else.
extern "C" __attribute__((visibility("default"))) void latecomer_dropin_follow(
    latecomer::AnyFunction (*find)(const char*), const void* (*call_site)(),
    latecomer_short_calls* short_calls, int has_messages) {
  latecomer::loader = find;
  latecomer::loaders_call_site = call_site;
  latecomer::short_calls = short_calls;
  latecomer::has_messages = has_messages != 0;
  latecomer::follow_next();
}
