#include "runtime/progress/call_signature.hpp"

#include <limits>

#include "base/error.hpp"
#include "runtime/call/datatypes.hpp"
#include "runtime/call/operators.hpp"

namespace latecomer {
namespace {

/// Pairs of numbers have holes, and are reduced by these alone.
bool pairs(MPI_Op op) { return op == MPI_MAXLOC || op == MPI_MINLOC; }

}  // namespace

std::optional<CallSignature> signature_of(const Call& call, Rank ranks, Rank me) {
  const bool reduces = combines(call.collective);
  // Moved data are bytes, whatever their types; their operator is not used.
  const MPI_Op op = reduces ? call.op : MPI_SUM;
  const auto number = number_of(op);
  const Predefined* const type = meaning_of(reduces ? call.sendtype : MPI_BYTE);
  if (!number || pairs(op) || type == nullptr) return std::nullopt;
  if (reduces && combined_as(op, call.sendtype) != datatype_numbered(type->number)) {
    return std::nullopt;
  }
  const Problem problem = problem_of(call, ranks, me);
  if (!problem.parts.empty()) return std::nullopt;
  return CallSignature{static_cast<std::uint64_t>(problem.count), *number, type->number,
                       static_cast<std::uint16_t>(call.collective), problem.root};
}

bool is_valid(const CallSignature& signature, Rank ranks) try {
  (void)operator_numbered(signature.op);
  (void)datatype_numbered(signature.type);
  return signature.collective < kCollectives && signature.root >= 0 && signature.root < ranks &&
         signature.count <= static_cast<std::uint64_t>(std::numeric_limits<Count>::max());
} catch (const Error&) {
  return false;
}

MPI_Op op_of(const CallSignature& signature) { return operator_numbered(signature.op); }
MPI_Datatype type_of(const CallSignature& signature) { return datatype_numbered(signature.type); }

Problem problem_of(const CallSignature& signature, Rank ranks) {
  Problem problem;
  problem.collective = static_cast<Collective>(signature.collective);
  problem.ranks = ranks;
  problem.count = static_cast<Count>(signature.count);
  problem.element_bytes = size_of(type_of(signature));
  problem.root = signature.root;
  problem.exact = combines(problem.collective) && exact(op_of(signature));
  return problem;
}

}  // namespace latecomer
