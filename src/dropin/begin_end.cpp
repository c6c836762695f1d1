// MPI_Init, MPI_Initialized and MPI_Finalize, and between them the calls that are not MPI's own.
#include <atomic>
#include <thread>

#include "dropin/fast_path.hpp"
#include "dropin/next.hpp"
#include "dropin/wrapped.hpp"
#include "runtime/progress/progress_thread.hpp"

namespace latecomer::wrapped {
namespace {

/// The thread that is in MPI_Init.
std::atomic<std::thread::id> beginning;

template <class Native>
int begin(const Native& native) {
  beginning = std::this_thread::get_id();
  const int code = native();
  if (code == MPI_SUCCESS) begin_activity();
  beginning = std::thread::id{};
  return code;
}

}  // namespace

int init(int* argc, char*** argv, const void*) {
  static const auto native = next("MPI_Init", PMPI_Init);
  return begin([&] { return native(argc, argv); });
}

int init_thread(int* argc, char*** argv, int required, int* provided, const void*) {
  static const auto native = next("MPI_Init_thread", PMPI_Init_thread);
  return begin([&] { return native(argc, argv, required, provided); });
}

/// Other threads may call MPI as soon as this says so: for them MPI has begun when MPI_Init has
/// ended, since until then the ranks' libraries meet on MPI_COMM_WORLD.
int initialized(int* flag, const void*) {
  static const auto native = next("MPI_Initialized", PMPI_Initialized);
  const int code = native(flag);
  const std::thread::id who = beginning;
  if (who != std::thread::id{} && who != std::this_thread::get_id() && flag != nullptr) *flag = 0;
  return code;
}

int finalize(const void*) {
  static const auto native = next("MPI_Finalize", PMPI_Finalize);
  prepare_finalize();
  return native();
}

}  // namespace latecomer::wrapped

namespace latecomer {
namespace {

/// Records a call of latecomer's own functions in a program that is linked with it, too, or without
/// a communicator leaves MPI's calls in it out of the record.
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
