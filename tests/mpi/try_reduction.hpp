// One all-reduce or reduce on random data, compared with a reference that every rank computes by
// itself.
#pragma once

#include "kinds.hpp"
#include "runner.hpp"

namespace latecomer::testing {

struct Shape {
  Count count = 1;
  bool in_place = false;
  double sleep = 0;  // seconds before this rank enters
  int root = -1;     // of a reduce; -1: all-reduce
};

/// Notes every fault: the return code, elements, memory between elements, the send buffer, and
/// results that differ between ranks. `about` names the case in the note.
void try_allreduce(MPI_Comm comm, const Kind& kind, const Shape& shape, std::uint64_t seed,
                   const std::string& about);

/// The same of a reduce to shape.root; in place there. Other ranks' receive buffers must not
/// change.
void try_reduce(MPI_Comm comm, const Kind& kind, const Shape& shape, std::uint64_t seed,
                const std::string& about);

}  // namespace latecomer::testing
