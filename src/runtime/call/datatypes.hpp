// The datatypes that MPI defines. Several handles mean the same: C and Fortran name one and the
// same number differently, and ranks of one call may each use their own language's name.
#pragma once

#include <optional>
#include <vector>

#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

// Operators, and the datatypes that they are defined on.

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

enum class Content : std::uint8_t {
  opaque,  // no operator knows it
  signed_integer,
  unsigned_integer,
  character,
  byte,
  real,
  extended,  // long double where it is not one of the IEEE formats
  complex,
  extended_complex,
  truth,          // of C and C++
  fortran_truth,  // of Fortran, which has other bits
  real_and_int,
  integer_and_int,
  real_and_real,
};

/// Sets of operators: an operator belongs to one, a datatype has several.
enum OperatorSet : std::uint8_t {
  kNoOperators = 0,
  kArithmetic = 1,  // MPI_SUM, MPI_PROD
  kExtrema = 2,     // MPI_MAX, MPI_MIN
  kLogical = 4,     // MPI_LAND, MPI_LOR, MPI_LXOR
  kBitwise = 8,     // MPI_BAND, MPI_BOR, MPI_BXOR
  kLocation = 16,   // MPI_MAXLOC, MPI_MINLOC
  kOnIntegers = kArithmetic | kExtrema | kLogical | kBitwise,
};

struct Predefined {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  Content content = Content::opaque;
  std::uint8_t operators = kNoOperators;  // that the MPI library computes on it
  std::uint16_t number = 0;               // one for all datatypes that mean the same
  Count size = 0;                         // bytes of data in an element
  bool ordered = true;                    // MPI_MAX and MPI_MIN compare it as its content says
};

/// The datatypes that MPI names and this MPI library has, in the same order on all ranks.
[[nodiscard]] const std::vector<Predefined>& all_predefined();
/// Null for a datatype that MPI does not name.
[[nodiscard]] const Predefined* predefined(MPI_Datatype type);
/// As predefined(), also for the datatypes of Fortran's kinds, which MPI makes but does not name.
[[nodiscard]] const Predefined* meaning_of(MPI_Datatype type);
/// One of the datatypes with this number. Throws Error if there is none.
[[nodiscard]] MPI_Datatype datatype_numbered(std::uint16_t number);

/// Bytes of data in an element of any datatype.
[[nodiscard]] Count size_of(MPI_Datatype type);

}  // namespace latecomer
