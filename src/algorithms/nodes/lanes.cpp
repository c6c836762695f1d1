#include "algorithms/nodes/lanes.hpp"

#include <algorithm>
#include <string>

namespace latecomer {
namespace {

constexpr std::string_view kLanes = "lanes";

}  // namespace

Count lanes_of(const Plan& plan) {
  const auto found = plan.parameters.find(kLanes);
  return found == plan.parameters.end() ? 1 : std::max<Count>(1, found->second);
}

Parameter lanes_parameter() {
  return {
      kLanes,
      "drivers of a node, each for a part of the vector; default: 1, or up to 4 where a process "
      "combines more slowly than the link brings",
      1,
      {}};
}

bool apart(const Problem& problem, const Knowledge& knowledge) {
  if (knowledge.arrivals.empty()) return false;
  const auto [least, most] =
      std::minmax_element(knowledge.arrivals.begin(), knowledge.arrivals.end());
  return *most - *least > knowledge.network.transfer(problem.bytes()) / 4;
}

}  // namespace latecomer
