#include "runtime/operators.hpp"

#include <initializer_list>

namespace latecomer {
namespace {

template <class Handle>
bool one_of(Handle handle, std::initializer_list<Handle> handles) {
  for (const Handle other : handles) {
    if (handle == other) return true;
  }
  return false;
}

bool is_integer(MPI_Datatype type) {
  return one_of(type, {MPI_INT,           MPI_LONG,           MPI_SHORT,     MPI_UNSIGNED,
                       MPI_UNSIGNED_LONG, MPI_UNSIGNED_SHORT, MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG,
                       MPI_SIGNED_CHAR,   MPI_UNSIGNED_CHAR,  MPI_INT8_T,    MPI_INT16_T,
                       MPI_INT32_T,       MPI_INT64_T,        MPI_UINT8_T,   MPI_UINT16_T,
                       MPI_UINT32_T,      MPI_UINT64_T,       MPI_AINT,      MPI_OFFSET,
                       MPI_COUNT,         MPI_INTEGER});
}

bool is_real(MPI_Datatype type) {
  return one_of(type, {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION});
}

bool is_complex(MPI_Datatype type) {
  return one_of(type, {MPI_C_COMPLEX, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX,
                       MPI_C_LONG_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX});
}

bool is_logical(MPI_Datatype type) { return one_of(type, {MPI_C_BOOL, MPI_LOGICAL}); }

bool is_integer_pair(MPI_Datatype type) {
  return one_of(type, {MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT});
}

bool is_pair(MPI_Datatype type) {
  return is_integer_pair(type) ||
         one_of(type, {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_DOUBLE_INT});
}

}  // namespace

OperatorKind kind_of(MPI_Op op) {
  const bool built_in = one_of(op, {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_LAND, MPI_LOR,
                                    MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC});
  return built_in ? OperatorKind::built_in : OperatorKind::user;
}

bool defined_on(MPI_Op op, MPI_Datatype type) {
  if (one_of(op, {MPI_SUM, MPI_PROD})) return is_integer(type) || is_real(type) || is_complex(type);
  if (one_of(op, {MPI_MAX, MPI_MIN})) return is_integer(type) || is_real(type);
  if (one_of(op, {MPI_LAND, MPI_LOR, MPI_LXOR})) return is_integer(type) || is_logical(type);
  if (one_of(op, {MPI_BAND, MPI_BOR, MPI_BXOR})) return is_integer(type) || type == MPI_BYTE;
  return one_of(op, {MPI_MAXLOC, MPI_MINLOC}) && is_pair(type);
}

bool exact(MPI_Op op, MPI_Datatype type) {
  if (one_of(op, {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN})) return is_integer(type);
  if (one_of(op, {MPI_MAXLOC, MPI_MINLOC})) return is_integer_pair(type);
  return kind_of(op) == OperatorKind::built_in;
}

}  // namespace latecomer
