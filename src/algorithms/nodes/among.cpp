#include "algorithms/nodes/among.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "algorithms/nodes/lanes.hpp"
#include "algorithms/registry.hpp"

namespace latecomer {
namespace {

constexpr std::string_view kAmong = "among";

std::vector<std::string_view> programs_of(std::string_view collective) {
  std::vector<std::string_view> names;
  for (const DeclaredRow& declared : declared_rows()) {
    if (declared.collective != collective || declared.name == "nodes") continue;
    if (declared.row().executor == nullptr) names.push_back(declared.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

const Algorithm& chosen(const Plan& plan, Count among) {
  const auto names = programs_of(to_string(plan.problem.collective));
  return find_algorithm(plan.problem.collective, names.at(static_cast<std::size_t>(among)));
}

/// The first row that takes the operator and is worth its planning; otherwise the first one that
/// takes the operator. None: nothing.
std::string_view usable(std::span<const std::string_view> names, const Problem& problem,
                        const Network& network) {
  std::string_view first;
  for (const std::string_view name : names) {
    if (name.empty()) continue;
    const Algorithm& row = find_algorithm(problem.collective, name);
    if (!accepts(row, problem, nullptr)) continue;
    if (row.worth_planning == nullptr || row.worth_planning(problem, network)) return name;
    if (first.empty()) first = name;
  }
  return first;
}

/// The arrival-aware row that runs among the nodes; none: nothing.
std::string_view aware_row(const Plan& plan, const Problem& problem, const Knowledge& knowledge,
                           std::span<const std::string_view> aware) {
  if (apart(problem, knowledge)) return usable(aware, problem, knowledge.network);
  const bool lanes = lanes_of(plan) > 1 && !aware.front().empty();
  if (!lanes || !accepts(find_algorithm(problem.collective, aware.front()), problem, nullptr)) {
    return {};
  }
  return aware.front();
}

}  // namespace

Parameters parameters_for(const Algorithm& row, const Parameters& given) {
  Parameters taken;
  for (const Parameter& parameter : row.parameters) {
    const auto found = given.find(parameter.name);
    if (found != given.end() && found->second >= parameter.minimum) taken.insert(*found);
  }
  return taken;
}

Parameter among_parameter(std::string_view collective) {
  return {kAmong, "the algorithm among the nodes; default: the cheapest", 0,
          programs_of(collective)};
}

Parameter segments_among_parameter() {
  return {"segments",
          "of the algorithm among the nodes; default: 0, as many as it takes by itself",
          0,
          {}};
}

Plan plan_among(Plan& plan, const Problem& problem, const Knowledge& knowledge,
                std::span<const std::string_view> aware) {
  const auto asked = plan.parameters.find(kAmong);
  const auto made = [&](const Algorithm& row) {
    return make_plan(row, problem, parameters_for(row, plan.parameters), knowledge);
  };
  if (asked != plan.parameters.end()) {
    const Algorithm& row = chosen(plan, asked->second);
    if (accepts(row, problem, nullptr)) return made(row);
  }
  const auto names = programs_of(to_string(problem.collective));
  const std::string_view use_aware = aware_row(plan, problem, knowledge, aware);
  Plan best;
  Seconds shortest = std::numeric_limits<Seconds>::infinity();
  for (const std::string_view name : names) {
    const Algorithm& row = find_algorithm(problem.collective, name);
    const bool competes = use_aware.empty() ? !row.arrival_aware : name == use_aware;
    if (!competes || !accepts(row, problem, nullptr)) continue;
    Plan tried = made(row);
    const Cost cost = cost_of(tried);
    const Network& network = knowledge.network;
    const Seconds takes =
        hockney_time(problem, cost, network) - network.saved(cost.sent * problem.element_bytes);
    if (takes >= shortest) continue;
    best = std::move(tried);
    shortest = takes;
  }
  const auto place = std::find(names.begin(), names.end(), best.algorithm);
  plan.parameters[std::string(kAmong)] = place - names.begin();
  return best;
}

}  // namespace latecomer
