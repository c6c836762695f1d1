// The calls of latecomer's own functions in a program that is linked with it, too.
#include "dropin/fast_path.hpp"
#include "dropin/wrapped.hpp"

namespace latecomer {
namespace {

/// Records a call, or without a communicator leaves MPI's calls in it out of the record.
int observe(const void* comm, const char* collective, long bytes, const void* site,
            int (*work)(void*), void* data) {
  if (comm == nullptr) return work(data);
  return wrapped::watched(
      *static_cast<const MPI_Comm*>(comm), collective, site, [&] { return work(data); }, bytes);
}

}  // namespace
}  // namespace latecomer

/// Called by the loader; null: the library is not active.
extern "C" __attribute__((visibility("default"))) decltype(&latecomer::observe)
latecomer_dropin_observer() {
  return latecomer::is_active() ? latecomer::observe : nullptr;
}
