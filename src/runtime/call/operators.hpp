// Operators, and the datatypes that they are defined on.
#pragma once

#include <optional>

#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

enum class OperatorKind { built_in, user };

/// The kind of an operator. MPI_REPLACE and MPI_NO_OP count as the user's: MPI itself refuses them
/// in collectives.
[[nodiscard]] OperatorKind kind_of(MPI_Op op);

/// True if the MPI library computes a built-in operator on this datatype. If false, the call is
/// left to the MPI library.
[[nodiscard]] bool defined_on(MPI_Op op, MPI_Datatype type);

/// True if the result has the same bits in whatever order the operands are combined, and in
/// whatever slices, in every MPI library: only where the MPI standard says what becomes of each
/// bit. Sums of integers that leave their range saturate in Open MPI on some processors, but not at
/// the end of a slice; of two truths that are not 0 or 1, of NaNs and of zeros some libraries take
/// one.
[[nodiscard]] bool exact(MPI_Op op);

/// The datatype on which a reduction combines: for a built-in operator one for all that mean the
/// same, so that ranks may name it differently and get the same bits. Open MPI combines MPI_REAL
/// with the operands the other way round than MPI_FLOAT.
[[nodiscard]] MPI_Datatype combined_as(MPI_Op op, MPI_Datatype type);

/// Built-in operators as numbers that are the same on all ranks; none for the user's.
[[nodiscard]] std::optional<std::uint16_t> number_of(MPI_Op op);
/// Throws Error if no operator has this number.
[[nodiscard]] MPI_Op operator_numbered(std::uint16_t number);

}  // namespace latecomer
