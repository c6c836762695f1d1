#include "capi/core/verify_plan.hpp"

#include "algorithms/plans.hpp"
#include "simulate/simulate.hpp"

namespace latecomer {

std::optional<Counterexample> verify_plan(const Plan& plan, const Network& network,
                                          const std::vector<Seconds>& arrivals,
                                          const Placement& placement) {
  if (find_algorithm(plan.problem.collective, plan.algorithm).kind != Kind::protocol) {
    return verify(plan.problem, build_programs(plan));
  }
  SimulationOptions options;
  options.network = network;
  options.arrivals = arrivals;
  options.placement = placement;
  options.element_bytes = plan.problem.element_bytes;
  const RecordedCall call = simulate_recorded(make_executors(plan, network), options);
  if (!call.simulation.failure.empty()) {
    return Counterexample{"deadlock", "on the virtual network " + call.simulation.failure};
  }
  return verify(plan.problem, call.programs);
}

}  // namespace latecomer
