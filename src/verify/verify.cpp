#include "verify/verify.hpp"

#include "verify/execution.hpp"
#include "verify/happens_before.hpp"
#include "verify/messages.hpp"
#include "verify/operations.hpp"
#include "verify/values.hpp"

namespace latecomer {
namespace {

constexpr Rule kRules[] = {
    {"plan",
     "all ranks carry the same plan; ranks and sizes fit the problem, and the ranks of a node "
     "agree on its buffer and flags"},
    {"bounds",
     "slices lie inside their buffers, peers are other ranks, operands have one size and "
     "do not overlap, each rank arrives once; flags are the node's, and ranks accumulate into "
     "its buffer"},
    {"dependencies", "operations wait for earlier operations only, the arrival for none"},
    {"arrival", "what touches input or output waits for the arrival"},
    {"read-only", "the input is not written"},
    {"matching", "the n-th send from a to b has an n-th receive at b from a, of the same size"},
    {"flags",
     "every await of a node's flag asks for all signals and accumulates on it; a flag takes "
     "accumulates into one slice, or signals"},
    {"hazard",
     "of two operations that touch the same elements, one of them writing, one waits for "
     "the other"},
    {"deadlock",
     "every operation gets done although no message is buffered and each rank posts "
     "one message at a time per peer and direction; awaits wait until their flag has counted"},
    {"race",
     "of two ranks of a node that touch the same elements of its buffer, one of them writing, "
     "one waits for the other, by flags or messages; accumulates on one flag need not"},
    {"undefined", "nothing is read that was never written"},
    {"index", "only contributions to the same element are combined, and results lie in place"},
    {"once", "no rank's contribution is combined twice"},
    {"order",
     "a non-commutative operator combines neighbouring runs of ranks, the lower on the "
     "left, into its right operand; it accumulates in an order that the programs enforce"},
    {"delivery", "in the end every rank holds what the collective promises"},
    {"same-tree",
     "every rank's result was combined in the same tree, with the same operands on the left, "
     "so that it is the same to the last bit; what ranks accumulate as they come is the same "
     "only for those that read it from one node; not asked for where the operator is exact"},
    {"same-slices",
     "ranks that combine the same elements do so in slices of the same elements: an operator "
     "may treat the last ones of a slice differently; not asked for where it is exact"},
};

verifier::Finding check_result(const Problem& problem, verifier::Programs programs,
                               const verifier::Values& values) {
  for (const auto check : {verifier::check_places, verifier::check_delivery}) {
    if (auto found = check(problem, programs, values)) return found;
  }
  if (problem.exact) return {};
  if (auto found = verifier::check_same_tree(problem, programs, values)) return found;
  return verifier::check_same_slices(problem, programs, values);
}

/// The rules that follow messages and values through an execution.
verifier::Finding check_execution(const Problem& problem, verifier::Programs programs) {
  verifier::Messages messages;
  if (auto found = verifier::check_matching(programs, messages)) return found;
  const verifier::Flags flags(programs);
  if (auto found = verifier::check_flags(programs, flags)) return found;
  if (auto found = verifier::check_hazards(programs)) return found;
  verifier::Execution execution;
  if (auto found = verifier::check_deadlock(programs, messages, execution)) return found;
  verifier::HappensBefore order(programs, messages, flags, execution);
  if (auto found = verifier::check_races(programs, messages, execution, order)) return found;
  verifier::Values values(problem, programs);
  if (auto found = verifier::check_values(programs, messages, execution, order, values)) {
    return found;
  }
  return check_result(problem, programs, values);
}

}  // namespace

std::span<const Rule> rules() { return kRules; }

std::optional<Counterexample> verify(const Problem& problem, std::span<const Program> programs) {
  if (auto found = verifier::check_plan(problem, programs)) return found;
  for (const auto check : {verifier::check_bounds, verifier::check_dependencies,
                           verifier::check_arrival, verifier::check_read_only}) {
    if (auto found = check(programs)) return found;
  }
  return check_execution(problem, programs);
}

std::optional<Counterexample> verify(const Schedule& schedule) {
  const auto& [plan, programs] = schedule;
  if (auto found = verifier::check_plan(plan.problem, programs, &plan)) return found;
  return verify(plan.problem, programs);
}

}  // namespace latecomer
