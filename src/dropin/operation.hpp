// An operation on messages as the program describes it.
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer::messages {

/// The entry of a call that begins an operation.
struct Posting {
  std::int64_t time;
  std::uint32_t order;
};

/// Data as the program describes them.
struct Data {
  Count count;
  MPI_Datatype type;
};
/// The program's names: the other rank, and the communicator.
struct To {
  int peer;
  int tag;
  MPI_Comm comm;
};

}  // namespace latecomer::messages
