#include "runtime/call/operators.hpp"

#include <array>

#include "base/error.hpp"
#include "runtime/call/datatypes.hpp"

namespace latecomer {
namespace {

struct BuiltIn {
  MPI_Op op;
  OperatorSet set;
};

/// The index in this list is the operator's number.
const std::array<BuiltIn, 12>& operators() {
  static const std::array<BuiltIn, 12> all = {{{MPI_SUM, kArithmetic},
                                               {MPI_PROD, kArithmetic},
                                               {MPI_MAX, kExtrema},
                                               {MPI_MIN, kExtrema},
                                               {MPI_LAND, kLogical},
                                               {MPI_LOR, kLogical},
                                               {MPI_LXOR, kLogical},
                                               {MPI_BAND, kBitwise},
                                               {MPI_BOR, kBitwise},
                                               {MPI_BXOR, kBitwise},
                                               {MPI_MAXLOC, kLocation},
                                               {MPI_MINLOC, kLocation}}};
  return all;
}

OperatorSet set_of(MPI_Op op) {
  for (const BuiltIn& each : operators()) {
    if (each.op == op) return each.set;
  }
  return kNoOperators;
}

}  // namespace

OperatorKind kind_of(MPI_Op op) {
  return set_of(op) == kNoOperators ? OperatorKind::user : OperatorKind::built_in;
}

bool defined_on(MPI_Op op, MPI_Datatype type) {
  const OperatorSet set = set_of(op);
  if (set == kNoOperators) return false;
  const Predefined* const known = meaning_of(type);
  return known != nullptr && (known->operators & set) != 0;
}

bool exact(MPI_Op op) { return set_of(op) == kBitwise; }

MPI_Datatype combined_as(MPI_Op op, MPI_Datatype type) {
  const OperatorSet set = set_of(op);
  const Predefined* const known = set == kNoOperators ? nullptr : meaning_of(type);
  if (known == nullptr) return type;
  const MPI_Datatype standing = datatype_numbered(known->number);
  const bool alike = known->ordered && predefined(standing)->ordered;
  return set == kExtrema && !alike ? type : standing;
}

std::optional<std::uint16_t> number_of(MPI_Op op) {
  for (std::size_t i = 0; i < operators().size(); ++i) {
    if (operators()[i].op == op) return static_cast<std::uint16_t>(i);
  }
  return std::nullopt;
}

MPI_Op operator_numbered(std::uint16_t number) {
  if (number < operators().size()) return operators()[number].op;
  throw Error("number of an operator", std::to_string(number),
              "one below " + std::to_string(operators().size()));
}

}  // namespace latecomer
