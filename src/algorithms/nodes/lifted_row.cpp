#include "algorithms/nodes/lifted_row.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/transfers.hpp"
#include "base/error.hpp"

namespace latecomer {

bool fits_node_by_node(const Problem& problem, const Placement& placement) {
  return shares_nodes(placement) && problem.count > 0 && problem.bytes() <= kMaxNodeBytes &&
         2 * problem.ranks <= kMaxNodeFlags;
}

Problem nodes_parts(const Plan& plan, const Nodes& nodes) {
  const Problem& problem = plan.problem;
  Problem among = problem_among(problem, nodes, problem.count);
  among.parts.assign(static_cast<std::size_t>(nodes.count()), 0);
  const std::vector<Range> parts = transfers::parts_of(problem);
  for (Rank rank = 0; rank < problem.ranks; ++rank) {
    among.parts[static_cast<std::size_t>(nodes.node(rank))] +=
        parts[static_cast<std::size_t>(rank)].count;
  }
  return among;
}

NodeOrder::NodeOrder(const Problem& problem, const NodeRank& rank)
    : rank_(rank),
      count_(problem.count),
      parts_(transfers::parts_of(problem)),
      places_(parts_.size()) {
  Count begin = 0;
  for (Rank node = 0; node < rank.nodes().count(); ++node) {
    const Count first = begin;
    for (const Rank each : rank.nodes().ranks(node)) {
      places_[static_cast<std::size_t>(each)] = {begin, part(each).count};
      begin += part(each).count;
    }
    nodes_.push_back({first, begin - first});
  }
}

Slice NodeOrder::reserve(Builder& builder) const {
  return rank_.alone() ? builder.scratch(count_) : builder.node(count_);
}

Slice NodeOrder::around(const Slice& own) const {
  return {own.buffer, own.begin - place(rank_.me()).begin, count_};
}

Flags NodeOrder::flags_of_ranks(const Slice& vector, Builder& builder) const {
  std::vector<Slice> slices;
  if (rank_.alone()) return {};
  for (const Rank each : rank_.nodes().ranks(rank_.node())) {
    slices.push_back(slice_of(vector, place(each)));
  }
  return {std::move(slices), builder};
}

Flags NodeOrder::flags_of_nodes(const Slice& vector, Builder& builder) const {
  std::vector<Slice> slices;
  if (rank_.alone()) return {};
  for (const Range node : nodes_) slices.push_back(slice_of(vector, node));
  return {std::move(slices), builder};
}

std::vector<NodeOrder::Block> NodeOrder::blocks(Rank node) const {
  std::vector<Block> all;
  for (const Rank rank : rank_.nodes().ranks(node)) {
    if (part(rank).empty()) continue;
    if (!all.empty() && all.back().in_vector.end() == part(rank).begin) {
      all.back().in_place.count += part(rank).count;
      all.back().in_vector.count += part(rank).count;
    } else {
      all.push_back({place(rank), part(rank)});
    }
  }
  return all;
}

namespace {

// Where ranks take longer to add and to copy than the link to send, many blocks keep all of them
// busy from the begin to the end.
constexpr Count kShortestBlock = 65536;  // bytes
constexpr Count kMostBlocks = 32;

Parameter among_parameter() {
  return {.name = kAmong,
          .meaning = "the algorithm among the nodes; default: the cheapest",
          .minimum = 0,
          .choices = {},
          .names_programs = true};
}

/// `segments` or `blocks` of the row among the nodes.
Parameter of_row_among(std::string_view name) {
  return {
      name, "of the algorithm among the nodes; default: 0, as many as it takes by itself", 0, {}};
}

/// True if the memory of nodes is used.
bool usable(const Problem& problem, const Placement& placement) {
  return parted(problem.collective) ? fits_node_by_node(problem, placement)
                                    : goes_in_waves(problem, placement);
}

/// The problems of the programs among the nodes, each of them once.
std::vector<Problem> problems_among(const Plan& plan, const Nodes& nodes) {
  if (parted(plan.problem.collective)) return {nodes_parts(plan, nodes)};
  return waves_among(plan, nodes);
}

/// Fills in the parameters on which the plans among the nodes depend.
void fill_parameters(Plan& plan, const Knowledge& knowledge) {
  const Collective collective = plan.problem.collective;
  if (parted(collective)) return;
  if (combines(collective)) fill_cells(plan, knowledge.placement);
  if (rooted(collective)) {
    plan.parameters.try_emplace("segments", 0);
    return;
  }
  fill_lanes(plan, knowledge);
  const Count lanes = lanes_of(plan);
  const Count blocks = std::min(plan.problem.bytes() / lanes / kShortestBlock, kMostBlocks);
  plan.parameters.try_emplace("blocks", lanes > 1 ? blocks : 0);
}

void fill_inner(Plan& plan, const Knowledge& knowledge, std::span<const std::string_view> aware) {
  Knowledge among = knowledge;
  among.placement = {};
  if (!usable(plan.problem, knowledge.placement)) {
    Problem same = plan.problem;
    same.in_place = false;  // local
    plan.inner = {plan_among(plan, same, among, aware)};
    return;
  }
  const Nodes nodes(knowledge.placement, plan.problem.ranks);
  plan.placement = knowledge.placement;
  plan.table = choose_drivers(plan.problem, nodes, lanes_of(plan), knowledge.arrivals,
                              knowledge.network.transfer(plan.problem.bytes()) / 4);
  if (nodes.count() == 1) {
    plan.parameters.try_emplace(std::string(kAmong), 0);  // none runs
    return;
  }
  among.arrivals = arrivals_of_nodes(plan, nodes, knowledge.arrivals);
  // A driver's receives must not lie in the buffer while other ranks add to it.
  among.background = combines(plan.problem.collective);
  among.telemetry = knowledge.telemetry && tells_all(plan.problem.collective);
  for (const Problem& problem : problems_among(plan, nodes)) {
    plan.inner.push_back(plan_among(plan, problem, among, aware));
  }
}

/// Throws Error unless the plan is one for the problem, but for being in place.
void check_inner(const Plan& inner, Problem problem) {
  const Algorithm& row = find_algorithm(problem.collective, inner.algorithm);
  problem.in_place = inner.problem.in_place;
  if (!row.is_program() || inner.problem != problem) {
    throw Error("inner plan", in_words(inner),
                "a program of " + std::to_string(problem.ranks) + " places for " +
                    std::to_string(problem.count) + " elements");
  }
  check_plan(inner);
}

void check(const Plan& plan) {
  std::vector<Problem> problems = {plan.problem};
  if (!among_all(plan)) {
    const Nodes nodes(plan.placement, plan.problem.ranks);
    if (!usable(plan.problem, plan.placement)) refuse_table(plan, "a problem that nodes take");
    check_drivers(plan, nodes);
    problems.clear();
    if (nodes.count() > 1) problems = problems_among(plan, nodes);
  }
  if (plan.inner.size() != problems.size()) {
    throw Error("inner plans", std::to_string(plan.inner.size()), std::to_string(problems.size()));
  }
  for (std::size_t i = 0; i < problems.size(); ++i) check_inner(plan.inner[i], problems[i]);
}

bool informs_all(const Plan& plan) {
  if (!among_all(plan) || plan.inner.empty()) return tells_all(plan.problem.collective);
  const Algorithm& row = find_algorithm(plan.problem.collective, plan.inner.front().algorithm);
  return row.informs_all != nullptr && row.informs_all(plan.inner.front());
}

Cost cost(const Plan& plan) {
  if (among_all(plan)) return cost_of(plan.inner.front());
  if (parted(plan.problem.collective)) {
    return plan.inner.empty() ? Cost{} : cost_of(plan.inner.front());
  }
  const Count combined = combines(plan.problem.collective) ? plan.problem.count : 0;
  return Cost{0, 0, combined} + cost_of_waves(plan);
}

}  // namespace

void fill_lifted(Plan& plan, const Knowledge& knowledge, std::span<const std::string_view> aware) {
  fill_parameters(plan, knowledge);
  fill_inner(plan, knowledge, aware);
  if (!parted(plan.problem.collective)) fill_pieces(plan);
}

void build_among_all(const Plan& plan, Builder& builder) {
  const Plan& inner = plan.inner.front();
  find_algorithm(inner.problem.collective, inner.algorithm).build(inner, builder);
}

Algorithm row_on_nodes(Collective collective) {
  std::vector<Parameter> parameters = {among_parameter()};
  if (!parted(collective)) parameters.push_back(pieces_parameter());
  if (combines(collective)) parameters.push_back(cells_parameter());
  if (!parted(collective) && rooted(collective)) parameters.push_back(of_row_among("segments"));
  if (!parted(collective) && !rooted(collective)) {
    parameters.push_back(lanes_parameter());
    parameters.push_back(of_row_among("blocks"));
  }
  return {.arrival_aware = true,
          .lifts = true,
          .scratch_messages = collective == Collective::bcast ? 2 : 3,
          .parameters = std::move(parameters),
          .cost_formula = combines(collective) ? "of the algorithm among the N nodes, + m gamma"
                                               : "of the algorithm among the N nodes",
          .source = "this project, docs/nodes.md",
          .check = check,
          .cost = cost,
          .informs_all = informs_all};
}

}  // namespace latecomer
