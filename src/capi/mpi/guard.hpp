// Where exceptions end: MPI's codes, and the message for latecomer_last_error().
#pragma once

#include <exception>
#include <mutex>
#include <new>

#include "capi/core/last_error.hpp"
#include "runtime/comm_state.hpp"

namespace latecomer {

inline int failed(const char* message, int code) {
  set_last_error(message);
  return code;
}

/// Runs `work`; no exception leaves. Other than lack of memory they become `code`.
template <class Work>
int guarded(int code, Work&& work) noexcept try {
  return work();
} catch (const std::bad_alloc&) {
  return failed("no memory", MPI_ERR_NO_MEM);
} catch (const std::exception& error) {
  return failed(error.what(), code);
}

/// Why no MPI function may be called now; null if they may.
inline const char* outside_of_mpi() {
  int flag = 0;
  PMPI_Initialized(&flag);
  if (flag == 0) return "MPI is not there yet: call MPI_Init first";
  PMPI_Finalized(&flag);
  return flag != 0 ? "MPI is gone: nothing can be called after MPI_Finalize" : nullptr;
}

/// Runs `work` on the communicator's state.
template <class Work>
int configure(MPI_Comm comm, Work&& work) noexcept {
  if (const char* const why = outside_of_mpi()) return failed(why, MPI_ERR_OTHER);
  if (comm == MPI_COMM_NULL) return failed("communicator: MPI_COMM_NULL", MPI_ERR_COMM);
  return guarded(MPI_ERR_ARG, [&] {
    CommState& state = state_of(comm);
    const std::lock_guard hold(state.turn);
    work(state);
    return MPI_SUCCESS;
  });
}

/// Runs `work`, which gives MPI's code; what it throws goes through the communicator's error
/// handler.
template <class Work>
int communicate(MPI_Comm comm, Work&& work) try {
  if (const char* const why = outside_of_mpi()) return failed(why, MPI_ERR_OTHER);
  return work();
} catch (const std::bad_alloc&) {
  failed("no memory", MPI_ERR_NO_MEM);
  PMPI_Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
  return MPI_ERR_NO_MEM;
} catch (const std::exception& error) {
  failed(error.what(), MPI_ERR_OTHER);
  PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

}  // namespace latecomer
