// Built-in operators and datatypes as numbers, the same on all ranks, so that a rank can be told of
// a call before it is in it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// What a call reduces, as far as all ranks know it alike.
struct Description {
  std::uint64_t count = 0;
  std::uint32_t op = 0;
  std::uint32_t type = 0;

  bool operator==(const Description&) const = default;
};

/// Nothing for operators and datatypes of the user's own, and for pairs of numbers.
[[nodiscard]] std::optional<Description> describe_call(Count count, MPI_Datatype type, MPI_Op op);

[[nodiscard]] MPI_Op op_of(const Description& what);
[[nodiscard]] MPI_Datatype type_of(const Description& what);

}  // namespace latecomer
