// The MPI library's own collective: always a candidate, and what unhandled calls fall back to.
#include "algorithms/common_rows.hpp"

namespace latecomer {

Algorithm native(Collective collective) {
  return {.name = "native",
          .collective = collective,
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

}  // namespace latecomer
