// One all-reduce on random data, compared with a reference that every rank computes by itself.
#pragma once

#include "kinds.hpp"
#include "runner.hpp"

namespace latecomer::testing {

struct Shape {
  Count count = 1;
  bool in_place = false;
  double sleep = 0;  // seconds before this rank enters
};

/// Notes what is wrong: the return code, elements, memory between elements, the send buffer, and
/// results that differ between ranks. `about` names the case in the note.
void try_allreduce(MPI_Comm comm, const Kind& kind, const Shape& shape, std::uint64_t seed,
                   const std::string& about);

}  // namespace latecomer::testing
