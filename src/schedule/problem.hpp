// What a collective is asked to do: facts that MPI guarantees equal on all ranks, and `in_place`.
#pragma once

#include <string_view>

#include "base/types.hpp"

namespace latecomer {

enum class Collective : std::uint8_t { allreduce };

[[nodiscard]] std::string_view to_string(Collective collective);
/// Throws Error for a name that is no collective.
[[nodiscard]] Collective parse_collective(std::string_view name);

struct Problem {
  Collective collective = Collective::allreduce;
  Rank ranks = 1;
  Count count = 0;          // elements of the whole vector
  Count element_bytes = 4;  // of one element on the wire
  Rank root = 0;            // of rooted collectives
  bool commutative = true;  // the operator
  bool in_place = false;    // input and output alias; local: never part of a plan's hash
  bool exact = false;       // the operator gives the same bits in whatever order it combines

  [[nodiscard]] Count input_count() const { return count; }
  [[nodiscard]] Count output_count() const { return count; }
  [[nodiscard]] Count bytes() const { return count * element_bytes; }
  bool operator==(const Problem&) const = default;
};

/// Throws Error naming the first field that makes no sense.
void check(const Problem& problem);

}  // namespace latecomer
