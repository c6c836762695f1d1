#include "schedule/program.hpp"

namespace latecomer {

Frame frame_of(const Plan& plan, Rank me) {
  const Problem& problem = plan.problem;
  Frame frame;
  frame.plan_hash = hash(plan);
  frame.me = me;
  frame.ranks = problem.ranks;
  frame.input_count = problem.input(me).count;
  frame.output_count = problem.output(me).count;
  frame.in_place = problem.in_place_at(me);
  frame.commutative = problem.commutative;
  frame.progress = plan.progress;
  return frame;
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
      return {{operation.source, {}}, operation.target};
  }
  return {};
}

}  // namespace latecomer
