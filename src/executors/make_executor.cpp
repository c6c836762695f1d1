#include "executors/make_executor.hpp"

#include "algorithms/registry.hpp"
#include "base/threads.hpp"
#include "engine/program_executor.hpp"

namespace latecomer {

std::unique_ptr<Executor> make_executor(const Plan& plan, Rank me, Count eager) {
  interruption_point();
  const Algorithm& row = find_algorithm(plan.problem.collective, plan.algorithm);
  if (row.kind != Kind::protocol) {
    return std::make_unique<ProgramExecutor>(build_program(plan, me), eager);
  }
  check_rank(plan, me);
  return row.executor(plan, me);
}

Executors make_executors(const Plan& plan, const Network& network) {
  const Count eager = network.eager_elements(plan.problem.element_bytes);
  Executors executors;
  for (Rank rank = 0; rank < plan.problem.ranks; ++rank) {
    executors.push_back(make_executor(plan, rank, eager));
  }
  return executors;
}

}  // namespace latecomer
