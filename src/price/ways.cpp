#include "price/ways.hpp"

#include "price/on_nodes.hpp"
#include "price/price.hpp"

namespace latecomer {

std::vector<Parameters> ways(const Algorithm& row, const Problem& problem, const Network& network,
                             const Placement& placement, bool arrivals_known) {
  std::vector<Parameters> all{{}};
  if (!row.lifts || !arrivals_known) return all;
  const Problem among = problem_of_nodes(problem, placement);
  for (const Parameter& parameter : row.parameters) {
    if (!parameter.names_programs) continue;
    for (std::size_t i = 0; i < parameter.choices.size(); ++i) {
      const Algorithm& inner = find_algorithm(row.collective, parameter.choices[i]);
      if (!inner.arrival_aware || !may_pay(inner, among, network)) continue;
      all.push_back({{std::string(parameter.name), static_cast<Count>(i)}});
    }
  }
  return all;
}

}  // namespace latecomer
