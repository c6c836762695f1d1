#include "schedule/program.hpp"

namespace latecomer {

RankContext context_of(const Plan& plan, Rank me) {
  const Problem& problem = plan.problem;
  RankContext context;
  context.plan_hash = hash(plan);
  context.me = me;
  context.ranks = problem.ranks;
  context.input_count = problem.input(me).count;
  context.output_count = problem.output(me).count;
  context.node = plan.placement.empty() ? me : plan.placement[static_cast<std::size_t>(me)];
  context.in_place = problem.in_place_at(me);
  context.commutative = problem.commutative;
  context.progress = plan.progress;
  return context;
}

Accesses accesses(const Operation& operation) {
  switch (operation.kind) {
    case OpKind::arrive:
      return {};
    case OpKind::send:
      return {{operation.source, {}}, {}};
    case OpKind::recv:
      return {{}, operation.target};
    case OpKind::combine:
      return {{operation.source, operation.target}, operation.result()};
    case OpKind::copy:
    case OpKind::signal:
    case OpKind::await:
      return {{operation.source, {}}, operation.target};
    case OpKind::accumulate:
      return {{operation.source, operation.target}, operation.target};
  }
  return {};
}

}  // namespace latecomer
