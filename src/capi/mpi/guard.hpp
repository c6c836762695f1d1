// Exceptions of our own end here, as MPI's codes and the message for latecomer_last_error().
// Exceptions of the program, from its error handlers and operators, pass through.
#pragma once

#include <dlfcn.h>

#include <exception>
#include <mutex>
#include <new>

#include "base/error.hpp"
#include "runtime/attachment.hpp"
#include "runtime/call/call.hpp"
#include "runtime/call/persistent.hpp"
#include "runtime/trace/tracer.hpp"
#include "transports/mpi/communicators.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {

/// Runs `work`, which returns MPI's code. Its exceptions become `code`, or MPI_ERR_NO_MEM for lack
/// of memory, which `report` then gets.
template <class Work, class Report>
int caught(int code, Work&& work, Report&& report) try {
  UserCode::forget();
  return work();
} catch (const RefusedByMpi& refused) {
  return failed("the MPI library rejected an argument: MPI_Error_string describes the code",
                refused.code);
} catch (const std::bad_alloc&) {
  if (UserCode::threw()) throw;
  return report(failed("no memory", MPI_ERR_NO_MEM));
} catch (const std::exception& error) {
  if (UserCode::threw()) throw;
  return report(failed(error.what(), code));
}

/// Runs `work` for functions that call no error handler.
template <class Work>
int guarded(int code, Work&& work) {
  return caught(code, work, [](int failure) { return failure; });
}

/// The reason why no MPI function may be called now; null if there is none. Programs with MPI
/// sessions only have no MPI_COMM_WORLD, and count as outside.
inline const char* outside_of_mpi() {
  int flag = 0;
  PMPI_Initialized(&flag);
  if (flag == 0) return "MPI is not initialized: call MPI_Init first";
  PMPI_Finalized(&flag);
  return flag != 0 ? "MPI was finalized: nothing can be called after MPI_Finalize" : nullptr;
}

/// As dropin/loader has it.
using Observer = int (*)(const void* comm, const char* collective, long bytes, const void* site,
                         int (*work)(void*), void* data);

/// The observer of the drop-in library, if that is active in the process: then no second trace is
/// written. Null: there is none. After MPI_Init.
inline Observer dropin_observer() {
  static const Observer found = [] {
    using Finder = Observer (*)();
    const auto find = reinterpret_cast<Finder>(dlsym(RTLD_DEFAULT, "latecomer_find_observer"));
    const Observer observer = find == nullptr ? nullptr : find();
    if (observer != nullptr) trace::leave_to_dropin();
    return observer;
  }();
  return found;
}

/// A collective as an observer knows it; without a communicator it is none.
struct ObservedCall {
  const MPI_Comm* comm = nullptr;
  const char* collective = nullptr;
  std::int64_t bytes = 0;
  const void* site = nullptr;
};

/// Runs `work` so that the drop-in library, if it is there, takes no call of MPI in it for the
/// program's.
template <class Work>
int observed(const ObservedCall& call, Work& work) {
  const Observer observer = dropin_observer();
  if (observer == nullptr) return work();
  const auto run = [](void* data) { return (*static_cast<Work*>(data))(); };
  void* const data = const_cast<void*>(static_cast<const void*>(&work));
  return observer(static_cast<const void*>(call.comm), call.collective,
                  static_cast<long>(call.bytes), call.site, run, data);
}

/// Runs `work` on the communicator's state with its lock held. `before` runs first, without the
/// lock: it may call error handlers of the program.
template <class Work, class Before = void (*)(CommState&)>
int with_state(MPI_Comm comm, Work&& work, Before&& before = [](CommState&) {}) {
  if (const char* const why = outside_of_mpi()) return failed(why, MPI_ERR_OTHER);
  if (comm == MPI_COMM_NULL) return failed("communicator: MPI_COMM_NULL", MPI_ERR_COMM);
  return guarded(MPI_ERR_ARG, [&] {
    CommState& state = state_of(comm);
    before(state);
    const std::lock_guard hold(state.lock);
    work(state);
    return MPI_SUCCESS;
  });
}

/// As with_state(), for functions that all ranks call together, and compare: started calls are
/// executed first. An intercommunicator is refused, since each group sees the other one only.
template <class Work>
int with_state_together(MPI_Comm comm, Work&& work) {
  const bool usable = outside_of_mpi() == nullptr && comm != MPI_COMM_NULL;
  if (usable && has_two_groups(comm))
    return failed("communicator: an intercommunicator", MPI_ERR_COMM);
  const auto run = [&] { return with_state(comm, work, execute_started); };
  return usable ? observed({}, run) : run();
}

/// Runs `work` for a collective call; its exceptions go through the communicator's error handler.
template <class Work>
int communicate(const Call& call, Work&& work) {
  if (!used_last(call.comm) && outside_of_mpi() != nullptr) {
    return call.native();  // moves the data, or names the error
  }
  return caught(MPI_ERR_OTHER, work, [&](int code) { return raise_error(call.comm, code); });
}

}  // namespace latecomer
