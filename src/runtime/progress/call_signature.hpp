// The signature of a call: built-in operators and datatypes as numbers that are equal on all ranks,
// so that a rank can know a call before it enters it.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/call/call.hpp"

namespace latecomer {

/// The properties of a call that all ranks share.
struct CallSignature {
  std::uint64_t count = 0;  // of the whole vector
  std::uint16_t op = 0;
  std::uint16_t type = 0;
  std::uint16_t collective = 0;
  std::int32_t root = 0;

  bool operator==(const CallSignature&) const = default;
};

/// Nothing for the user's operators and datatypes, for pairs of numbers, and for parts of different
/// lengths.
[[nodiscard]] std::optional<CallSignature> signature_of(const Call& call, Rank ranks, Rank me);

/// True if the signature is one of a call of `ranks` ranks; the functions below require it.
[[nodiscard]] bool is_valid(const CallSignature& signature, Rank ranks);

[[nodiscard]] MPI_Op op_of(const CallSignature& signature);
[[nodiscard]] MPI_Datatype type_of(const CallSignature& signature);
/// The problem, not in place.
[[nodiscard]] Problem problem_of(const CallSignature& signature, Rank ranks);

}  // namespace latecomer
