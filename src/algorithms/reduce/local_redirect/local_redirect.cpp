// Local redirect: ranks stand in a line, and neighbours merge their partial results as soon as both
// are there; a rank that is done tells its left neighbour which rank is next. It decides while it
// runs, so it needs no expected arrivals. A late rank splits the line; both sides are merged before
// it arrives, and two merges remain.
//
// Cost: P-1 merges in all, each of a message, a combine and up to four words; about ceil(log2 P)(6
// alpha + m beta + m gamma) when all arrive together. Use it for vectors of middle length and
// unknown arrivals. Where the operator does not commute, it keeps rank order: the line begins at
// rank 0, and a root other than the last rank receives the result in one message more. Otherwise
// the line ends in the root.
// Source: Marendic 2012, section 4, algorithm 2; local_redirect_state.hpp lists the differences.
#include "algorithms/plan_checks.hpp"
#include "algorithms/reduce/local_redirect/local_redirect_protocol.hpp"
#include "algorithms/row.hpp"
#include "patterns/powers.hpp"
#include "patterns/trees.hpp"

namespace latecomer::reduce {
namespace {

class LocalRedirectExecutor final : public Executor {
 public:
  LocalRedirectExecutor(const Plan& plan, Rank me) : context_(context_of(plan, me)) {
    context_.scratch_count = 2 * plan.problem.count;
    line_.order = plan.order;
    line_.root = plan.problem.root;
    line_.positions.resize(plan.order.size());
    for (std::size_t at = 0; at < plan.order.size(); ++at) {
      line_.positions[plan.order[at]] = static_cast<Rank>(at);
    }
  }
  [[nodiscard]] const RankContext& context() const override { return context_; }
  [[nodiscard]] std::unique_ptr<Protocol> create_protocol(
      Transport& transport, const ProtocolOptions& /*options*/) const override {
    return std::make_unique<LocalRedirectProtocol>(line_, context_, transport);
  }
  [[nodiscard]] ControlMeaning meaning(ControlWords words) const override {
    return meaning_of(line_, words);
  }

 private:
  RankContext context_;
  Line line_;
};

std::unique_ptr<Executor> executor(const Plan& plan, Rank me) {
  return std::make_unique<LocalRedirectExecutor>(plan, me);
}

void fill_plan(Plan& plan, const Knowledge& /*knowledge*/) {
  const Problem& problem = plan.problem;
  const Rotated line(problem.ranks, problem.commutative ? problem.root + 1 : 0);
  for (Rank at = 0; at < problem.ranks; ++at) plan.order.push_back(line.rank(at));
}

Count handed_over(const Plan& plan) { return plan.order.back() == plan.problem.root ? 0 : 1; }

/// One merge on each level, with three words before it.
Cost cost(const Plan& plan) {
  const Count levels = ceil_log2(plan.problem.ranks);
  const Count merged = levels * plan.problem.count;
  const Count more = handed_over(plan);
  return {4 * levels + more, merged + more * plan.problem.count, merged};
}

}  // namespace

LATECOMER_ROW(reduce, local_redirect) {
  return {.scratch_messages = 2,
          .cost_formula = "about ceil(log2 P)(6 alpha + m beta + m gamma) at zero delay",
          .source = "Marendic 2012, algorithm 2",
          .fill_plan = fill_plan,
          .check = check_ordered,
          .cost = cost,
          .executor = executor};
}

}  // namespace latecomer::reduce
