// One broadcast, gather, all-gather or scatter on random data, with datatypes that may differ from
// rank to rank, compared with the result that MPI defines.
#pragma once

#include <string>

#include "runner.hpp"
#include "schedule/problem.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer::testing {

struct Moving {
  Collective collective = Collective::allgather;
  Count count = 2;  // numbers of each rank's part; of the vector in a broadcast
  int root = 0;
  bool in_place = false;
  bool uneven = false;  // all-gather: rank r's part has r numbers more
  double sleep = 0;     // seconds before this rank enters
};

/// Notes every fault: the return code, numbers, memory between them, the send buffer.
void try_moving(MPI_Comm comm, const Moving& moving, std::uint64_t seed, const std::string& about);

}  // namespace latecomer::testing
