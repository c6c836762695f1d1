// A call after a check of its arguments. Its fields rest on facts that MPI makes equal on all
// ranks, except for wrong arguments, which the MPI library refuses.
#pragma once

#include "runtime/call/call.hpp"
#include "runtime/report/statistics.hpp"

namespace latecomer {

struct CommState;

struct Request {
  const Call& call;
  Problem problem;                   // only its collective is set if arguments are wrong
  CallCounter by_library = nullptr;  // if the MPI library executes it: the counter; else null
};

[[nodiscard]] Request understand(const CommState& state, const Call& call);

}  // namespace latecomer
