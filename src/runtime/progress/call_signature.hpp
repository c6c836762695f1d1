// Built-in operators and datatypes as numbers, the same on all ranks, so that a rank can be told of
// a call before it is in it.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/call/call.hpp"

namespace latecomer {

/// A call, as far as all ranks know it alike.
struct CallSignature {
  std::uint64_t count = 0;  // of the whole vector
  std::uint16_t op = 0;
  std::uint16_t type = 0;
  std::uint16_t collective = 0;
  std::int32_t root = 0;

  bool operator==(const CallSignature&) const = default;
};

/// Nothing for operators and datatypes of the user's own, for pairs of numbers, and for parts that
/// differ in length.
[[nodiscard]] std::optional<CallSignature> signature_of(const Call& call, Rank ranks, Rank me);

/// Whether it is a call of one of `ranks` ranks: what the functions below take.
[[nodiscard]] bool is_valid(const CallSignature& signature, Rank ranks);

[[nodiscard]] MPI_Op op_of(const CallSignature& signature);
[[nodiscard]] MPI_Datatype type_of(const CallSignature& signature);
/// Not in place.
[[nodiscard]] Problem problem_of(const CallSignature& signature, Rank ranks);

}  // namespace latecomer
