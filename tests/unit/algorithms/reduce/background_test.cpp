// Background progress of a late root: the others' data are in its scratch when it arrives.
#include <gtest/gtest.h>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "simulate/simulate.hpp"

namespace latecomer {
namespace {

/// Seconds from the arrival of root 3, the last one, until it has the result.
Seconds after_arrival(std::string_view algorithm, Count progress) {
  // Messages wait for their receivers, and combining takes no time.
  const Network network{.alpha = 1e-6, .beta = 1e-9, .gamma = 0, .eager_limit = 0};
  SimulationOptions options;
  options.network = network;
  options.arrivals.assign(8, 0);
  options.arrivals[3] = 1;
  const Plan plan = make_plan(find_algorithm(Collective::reduce, algorithm),
                              {Collective::reduce, 8, 1 << 20, 4, 3}, {{"progress", progress}},
                              {options.arrivals, network});
  return simulate(build_programs(plan), options).exits[3] - 1;
}

TEST(LateRoot, FindsWhatTheOthersHaveInItsScratch) {
  for (const char* name : {"sorted_linear_tree", "static_tree"}) {
    EXPECT_GT(after_arrival(name, 0), 4e-3) << name;  // the vector's time on a link
    EXPECT_LT(after_arrival(name, 1), 1e-9) << name;
  }
}

}  // namespace
}  // namespace latecomer
