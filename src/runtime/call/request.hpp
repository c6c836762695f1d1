// A call as latecomer understands it: found out once, used on the whole way. It rests on facts that
// MPI makes equal on all ranks, but for wrong arguments: those are for the MPI library to refuse.
#pragma once

#include "runtime/call/call.hpp"
#include "runtime/report/statistics.hpp"

namespace latecomer {

struct CommState;

struct Request {
  const Call& call;
  Problem problem;                   // but for its collective nothing where arguments are wrong
  CallCounter by_library = nullptr;  // why it is not latecomer's to decide about; null: it is
};

[[nodiscard]] Request understand(const CommState& state, const Call& call);

}  // namespace latecomer
