#include "runtime/finalize.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "runtime/progress/progress_thread.hpp"
#include "transports/mpi/mailbox.hpp"
#include "transports/mpi/scratch.hpp"
#include "transports/mpi/staging.hpp"

namespace latecomer {
namespace {

using End = void (*)();

std::mutex guard;
std::vector<End>& ends() {
  static auto& made = *new std::vector<End>;  // MPI may end after static objects
  return made;
}

/// The end of this number; null: there are no more. An end may add others.
End ended(std::size_t number) {
  const std::lock_guard hold(guard);
  return number < ends().size() ? ends()[number] : nullptr;
}

/// MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else, the last one first.
/// In functions of the program's, whose attributes came after this one, it still uses MPI.
int finalizing(MPI_Comm, int, void*, void*) {
  constexpr Seconds kAtMost = 0.1;
  prepare_finalize();  // where MPI_Finalize was called by code that goes past ours
  for (std::size_t i = 0; const End end = ended(i); ++i) end();
  (void)Mailbox::finish(kAtMost);
  Scratch::free_unused();
  Staging::free_unused();
  return MPI_SUCCESS;
}

void attach_to_self() {
  int keyval = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalizing, &keyval, nullptr);
  PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
  PMPI_Comm_free_keyval(&keyval);  // goes with the attribute
}

}  // namespace

void prepare_finalize() { ProgressThread::instance().stop(); }

bool end_with_mpi(void (*end)()) {
  int initialized = 0;  // not with sessions alone: then there is no MPI_COMM_SELF
  PMPI_Initialized(&initialized);
  if (initialized == 0) return false;
  static std::once_flag once;
  std::call_once(once, attach_to_self);
  if (end == nullptr) return true;
  const std::lock_guard hold(guard);
  if (std::ranges::find(ends(), end) == ends().end()) ends().push_back(end);
  return true;
}

}  // namespace latecomer
