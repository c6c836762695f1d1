// A call after a check of its arguments, and how it began and ended. Its fields rest on facts that
// MPI makes equal on all ranks, except for wrong arguments, which the MPI library refuses.
#pragma once

#include <string>

#include "runtime/call/call.hpp"
#include "runtime/call/run.hpp"
#include "runtime/comm_state.hpp"
#include "runtime/report/statistics.hpp"

namespace latecomer {

struct Request {
  const Call& call;
  Problem problem;                   // only its collective is set if arguments are wrong
  CallCounter by_library = nullptr;  // if the MPI library executes it: the counter; else null
};

[[nodiscard]] Request understand(const CommState& state, const Call& call);

/// A communicator of ours; MPI_COMM_NULL: there is none yet.
[[nodiscard]] MPI_Comm own_comm(const CommState& state);

// How a call began and ended, and how it fails.

/// The end of a call.
struct Ending {
  int code = MPI_SUCCESS;
  CallCounter counter = &latecomer_stats::native;
  bool arrivals_known = false;      // all ranks know its arrivals
  CallClass* call_class = nullptr;  // under automatic choice, if there is one
  bool raise = false;               // the program's error handler must still be called
  bool decided = false;             // all ranks decided about the call
  bool announced = false;           // rank 0 alone did
  bool ends_block = false;          // of calls of its class (choose/by_blocks.cpp)
  Seconds library = 0;              // duration of the MPI library's own collective
};

/// The beginning of a call, on the common clock.
struct Entry {
  Seconds arrived = 0;
  Seconds deciding = 0;  // seconds from then until the collective began
};

/// Makes the communicator unusable, and notifies the other ranks, which wait for this one. False:
/// MPI may still use the memory of the call.
bool give_up(CommState& state, const std::string& why);
/// Ends a failed call. The other ranks are notified first.
[[nodiscard]] Ending fail(CommState& state, const Outcome& outcome);
/// Ends a call on a communicator that failed earlier.
[[nodiscard]] Ending refuse(const CommState& state);

}  // namespace latecomer
