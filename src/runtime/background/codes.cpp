#include "runtime/background/codes.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/operators.hpp"

namespace latecomer {
namespace {

const std::vector<MPI_Op>& operators() {
  static const std::vector<MPI_Op> all = {MPI_SUM, MPI_PROD, MPI_MAX,  MPI_MIN, MPI_LAND,
                                          MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
  return all;
}

const std::vector<MPI_Datatype>& datatypes() {
  static const std::vector<MPI_Datatype> all = {MPI_FLOAT,
                                                MPI_DOUBLE,
                                                MPI_LONG_DOUBLE,
                                                MPI_REAL,
                                                MPI_INT,
                                                MPI_LONG,
                                                MPI_SHORT,
                                                MPI_UNSIGNED,
                                                MPI_UNSIGNED_LONG,
                                                MPI_UNSIGNED_SHORT,
                                                MPI_LONG_LONG,
                                                MPI_UNSIGNED_LONG_LONG,
                                                MPI_SIGNED_CHAR,
                                                MPI_UNSIGNED_CHAR,
                                                MPI_INT8_T,
                                                MPI_INT16_T,
                                                MPI_INT32_T,
                                                MPI_INT64_T,
                                                MPI_UINT8_T,
                                                MPI_UINT16_T,
                                                MPI_UINT32_T,
                                                MPI_UINT64_T,
                                                MPI_AINT,
                                                MPI_OFFSET,
                                                MPI_COUNT,
                                                MPI_INTEGER,
                                                MPI_BYTE,
                                                MPI_DOUBLE_PRECISION,
                                                MPI_C_BOOL,
                                                MPI_C_COMPLEX,
                                                MPI_C_FLOAT_COMPLEX,
                                                MPI_C_DOUBLE_COMPLEX};
  return all;
}

template <class Handle>
std::optional<std::uint16_t> place_of(const std::vector<Handle>& all, Handle handle) {
  const auto found = std::find(all.begin(), all.end(), handle);
  if (found == all.end()) return std::nullopt;
  return static_cast<std::uint16_t>(found - all.begin());
}

}  // namespace

std::optional<Description> describe_call(const Call& call, Rank ranks, Rank me) {
  const bool reduces = combines(call.collective);
  // Moved data are bytes, whatever their types; their operator is not used.
  const auto op_code = place_of(operators(), reduces ? call.op : MPI_SUM);
  const auto type_code = place_of(datatypes(), reduces ? call.sendtype : MPI_BYTE);
  if (!op_code || !type_code) return std::nullopt;
  const Problem problem = problem_of(call, ranks, me);
  if (!problem.parts.empty()) return std::nullopt;
  return Description{static_cast<std::uint64_t>(problem.count), *op_code, *type_code,
                     static_cast<std::uint16_t>(call.collective), problem.root};
}

bool known(const Description& what, Rank ranks) {
  return what.collective < kCollectives && what.op < operators().size() &&
         what.type < datatypes().size() && what.root >= 0 && what.root < ranks &&
         what.count <= static_cast<std::uint64_t>(std::numeric_limits<Count>::max());
}

MPI_Op op_of(const Description& what) { return operators().at(what.op); }
MPI_Datatype type_of(const Description& what) { return datatypes().at(what.type); }

Problem problem_of(const Description& what, Rank ranks) {
  MPI_Count bytes = 0;
  PMPI_Type_size_x(type_of(what), &bytes);
  Problem problem;
  problem.collective = static_cast<Collective>(what.collective);
  problem.ranks = ranks;
  problem.count = static_cast<Count>(what.count);
  problem.element_bytes = bytes;
  problem.root = what.root;
  problem.exact = combines(problem.collective) && exact(op_of(what), type_of(what));
  return problem;
}

}  // namespace latecomer
