// Which operators and datatypes go together.
#pragma once

#include <optional>

#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

enum class OperatorKind { built_in, user };

/// One of MPI's reduction operators, or a user's. MPI_REPLACE and MPI_NO_OP count as the user's:
/// MPI itself refuses them in collectives.
[[nodiscard]] OperatorKind kind_of(MPI_Op op);

/// Whether the MPI library computes a built-in operator on this datatype. Where this says no, the
/// MPI library has the last word.
[[nodiscard]] bool defined_on(MPI_Op op, MPI_Datatype type);

/// Whether the result has the same bits in whatever order the operands are combined. Also maximum
/// and minimum of floats have not: with a NaN, or of zeros of both signs, MPI libraries take one
/// operand.
[[nodiscard]] bool exact(MPI_Op op, MPI_Datatype type);

/// Built-in operators as numbers that are the same on all ranks; none for the user's.
[[nodiscard]] std::optional<std::uint16_t> number_of(MPI_Op op);
/// Throws Error if no operator has this number.
[[nodiscard]] MPI_Op operator_numbered(std::uint16_t number);

}  // namespace latecomer
