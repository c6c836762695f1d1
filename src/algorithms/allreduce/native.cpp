// The MPI library's own all-reduce: always a candidate, and what unhandled calls fall back to.
#include "algorithms/allreduce/rows.hpp"

namespace latecomer::allreduce {

Algorithm native() {
  return {.name = "native",
          .collective = Collective::allreduce,
          .kind = Kind::native,
          .arrival_aware = false,
          .commutative_only = false,
          .scratch_messages = 0,
          .parameters = {},
          .cost_formula = "the MPI library's",
          .source = "the MPI library",
          .complete = nullptr,
          .build = nullptr,
          .cost = nullptr};
}

}  // namespace latecomer::allreduce
