// The choice among nodes, by prices.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/nodes/cut.hpp"
#include "algorithms/nodes/lifted_row.hpp"
#include "algorithms/plans.hpp"
#include "price/price.hpp"

namespace latecomer {
namespace {

/// The programs of the collective, by name: the choices of `among`.
std::vector<const Algorithm*> programs_of(Collective collective) {
  std::vector<const Algorithm*> programs;
  for (const Algorithm& row : registry(collective)) {
    if (row.is_program()) programs.push_back(&row);
  }
  return programs;
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

/// The time of work within a node that the messages of a plan do not hide, about: the driver's
/// copies; adding up the first message, and copying the last one. The first node's segments often
/// lie as its messages need them, so the second one stands for all.
Seconds work_within(const Plan& plan, const Network& network) {
  const Program program = build_program(plan, std::min(1, plan.problem.ranks - 1));
  Count copied = 0;
  Count first = 0;
  Count last = 0;
  for (const Operation& op : program.operations) {
    if (op.kind == OpKind::copy) copied += op.source.count;
    if (op.kind == OpKind::send && first == 0) first = op.source.count;
    if (op.kind == OpKind::recv) last = op.target.count;
  }
  const auto bytes = [&](Count elements) {
    return static_cast<Seconds>(elements * plan.problem.element_bytes);
  };
  return network.gamma * bytes(first) + network.local_beta * bytes(copied + last);
}

/// The cheapest plan. Work within the nodes decides between all-reduces that cost about the same.
Plan least_among(std::vector<std::pair<Seconds, Plan>> tried, const Network& network) {
  constexpr double kAlike = 1.05;
  if (tried.size() > 1) {
    const Seconds least =
        std::ranges::min_element(tried, {}, &std::pair<Seconds, Plan>::first)->first;
    std::erase_if(tried,
                  [&](const auto& each) { return each.first > std::max(least, kAlike * least); });
  }
  if (tried.size() > 1 && tried.front().second.problem.collective == Collective::allreduce) {
    for (auto& [takes, plan] : tried) takes += work_within(plan, network);
  }
  const auto best = std::ranges::min_element(tried, {}, &std::pair<Seconds, Plan>::first);
  return best == tried.end() ? Plan{} : std::move(best->second);
}

}  // namespace

Plan plan_among(Plan& plan, const Problem& problem, const Knowledge& knowledge,
                std::span<const std::string_view> aware) {
  const std::vector<const Algorithm*> programs = programs_of(problem.collective);
  const auto asked = plan.parameters.find(kAmong);
  const auto made = [&](const Algorithm& row) {
    return make_plan(row, problem, parameters_for(row, plan.parameters), knowledge);
  };
  if (asked != plan.parameters.end()) {
    const Algorithm& row = *programs.at(static_cast<std::size_t>(asked->second));
    if (accepts(row, problem, nullptr)) return made(row);
  }
  const std::string_view use_aware = aware_row(plan, problem, knowledge, aware);
  std::vector<std::pair<Seconds, Plan>> tried;
  for (const Algorithm* const row : programs) {
    const bool competes = use_aware.empty() ? !row->arrival_aware : row->name == use_aware;
    if (!competes || !accepts(*row, problem, nullptr)) continue;
    Plan one = made(*row);
    const Seconds takes = balanced_time(one, knowledge.network);
    tried.emplace_back(takes, std::move(one));
  }
  Plan best = least_among(std::move(tried), knowledge.network);
  const auto place = std::ranges::find(programs, best.algorithm, &Algorithm::name);
  plan.parameters[std::string(kAmong)] = place - programs.begin();
  return best;
}

}  // namespace latecomer
