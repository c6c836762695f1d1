#include "price/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "algorithms/nodes/cut.hpp"
#include "algorithms/plans.hpp"
#include "algorithms/segments.hpp"
#include "base/partition.hpp"
#include "patterns/powers.hpp"
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

namespace {

// Microseconds, about the means over all rows (evidence/planning_time.py).
constexpr double kPlan = 20;
constexpr double kRank = 2;
constexpr double kSegment = 0.5;  // of a pipeline
constexpr double kMessage = 1;    // of all ranks: for a timetable, or a price without closed form

/// Returns about as many segments as the best pipeline has.
double segments_of(const Problem& problem, const Network& network) {
  const double most = static_cast<double>(max_segments(problem.count));
  const double link = problem.ranks * network.beta * static_cast<double>(problem.bytes());
  const double best = network.alpha > 0 ? std::sqrt(link / network.alpha) : most;
  const Count eager = network.handshake > 0 ? eager_parts(problem.bytes(), network) : 1;
  return std::clamp(std::max(best, static_cast<double>(eager)), 1.0, most);
}

bool is_pipeline(const Algorithm& row) {
  return std::ranges::any_of(row.parameters, [](const Parameter& each) {
    return each.name == "segments" || each.name == "blocks";
  });
}

constexpr double kMicrosecond = 1e-6;
constexpr double kCold = 1.3;  // caches that a call has left, unlike those of repeated measurements
// A rank's program for its node, in microseconds: with 24 to 512 operations it took 46 to 188 in
// the first calls of 2 and 4 ranks that share a machine (docs/decisions/0016-selection.md).
constexpr double kProgramOnNode = 35;
constexpr double kOperationOnNode = 0.3;

/// `auto` makes the plans of all candidates.
Seconds cost_of_all(const Problem& problem, const Network& network, const Placement& placement) {
  Seconds sum = 0;
  for (const Algorithm& row : registry(problem.collective)) {
    if (!is_candidate(row) || !may_pay(row, problem, network, placement)) continue;
    const auto tried = ways(row, problem, network, placement, true).size();
    sum += static_cast<double>(tried) * planning_cost(row, problem, network, placement);
  }
  return sum;
}

/// The dearest row to plan among the nodes: of the protocols, or of the arrival-aware programs.
Seconds dearest_among(Kind kind, const Problem& among, const Network& network) {
  Seconds dearest = 0;
  for (const Algorithm& row : registry(among.collective)) {
    if (row.kind != kind || row.lifts || row.stands_for_others) continue;
    const bool follows = row.arrival_aware && may_pay(row, among, network);
    if (kind == Kind::program && !follows) continue;
    dearest = std::max(dearest, planning_cost(row, among, network));
  }
  return dearest;
}

/// The operations of a rank on the memory of its node, about.
double likely_operations(const Problem& problem, const Placement& placement) {
  Plan likely;
  likely.problem = problem;
  likely.placement = placement;
  likely.parameters["pieces"] = std::clamp<Count>(problem.bytes() / kShortestPiece, 1, kMostPieces);
  return static_cast<double>(operations_on_node(likely));
}

Seconds program_on_node(double operations) {
  return kCold * kMicrosecond * (kProgramOnNode + kOperationOnNode * operations);
}

/// Plans for ranks that share nodes: all balanced ones among the nodes, an arrival-aware one, the
/// program of a rank and, for known arrivals, the run of all ranks.
Seconds cost_on_nodes(const Algorithm& row, const Problem& problem, const Network& network,
                      const Placement& placement) {
  const double operations = likely_operations(problem, placement);
  const Problem among = problem_of_nodes(problem, placement);
  Seconds cost =
      planning_cost(fastest_row(problem.collective), among, network) + program_on_node(operations);
  if (!row.arrival_aware) return cost;
  cost += dearest_among(Kind::program, among, network);
  const double all = problem.ranks * operations;
  const bool replayed =
      problem.ranks <= kMaxReplayedRanks && all <= static_cast<double>(kMaxReplayedOnNodes);
  return cost + kCold * kMicrosecond * (replayed ? all : 0);
}

constexpr std::size_t kMost = 4;
constexpr double kExchange = 1.5;  // calibrations of links of TCP found 1.2 to 1.8

/// There are none on one node, where nothing runs among nodes, and where memory of nodes cannot be
/// used. Lanes run the same program.
std::vector<Rival> rivals_among_nodes(const Plan& fastest, const Knowledge& among) {
  if (fastest.placement.empty() || fastest.inner.empty()) return {};
  const Algorithm& nodes = find_algorithm(fastest.problem.collective, fastest.algorithm);
  std::vector<Rival> all = rivals(fastest.inner.front(), among);
  std::erase_if(all, [](const Rival& each) { return !each.choice.parameters.empty(); });
  for (Rival& each : all) {
    each.choice = parse_choice(nodes.collective,
                               std::string(nodes.name) + ":among=" + std::string(each.name));
  }
  return all;
}

}  // namespace

Seconds planning_cost(const Algorithm& row, const Problem& problem, const Network& network,
                      const Placement& placement) {
  if (row.kind == Kind::native) return 0;
  if (row.automatic()) return cost_of_all(problem, network, placement);
  const bool on_nodes = row.lifts || row.stands_for_others;
  if (on_nodes && row.kind == Kind::program && by_nodes(problem.collective, placement)) {
    return cost_on_nodes(row, problem, network, placement);
  }
  if (row.lifts && row.kind == Kind::protocol && shares_nodes(placement)) {
    return dearest_among(row.kind, problem_of_nodes(problem, placement), network) +
           program_on_node(likely_operations(problem, placement));
  }
  const double ranks = problem.ranks;
  const double segments = is_pipeline(row) ? segments_of(problem, network) : 1;
  double effort = kPlan + kRank * ranks + kSegment * segments;
  // Protocols of rooted collectives decide without a timetable.
  const bool follows = row.arrival_aware || (row.kind == Kind::protocol && !rooted(row.collective));
  if (follows && row.mean_after_last == nullptr && problem.ranks <= kMaxReplayedRanks)
    effort += kMessage * ranks * (ranks + segments);
  return kCold * kMicrosecond * effort;
}

namespace {

constexpr std::size_t kProgram = 1500;   // bytes of a program without operations
constexpr std::size_t kOperation = 160;  // bytes of an operation and its dependencies in vectors
constexpr std::size_t kParameter = 80;   // bytes of a parameter in its map

/// Counts the transfers of one rank: at most those that follow each other, and for a vector cut
/// into segments at most those on its way up and down a tree of two children.
Count transfers_of(const Plan& plan) {
  const Problem& problem = plan.problem;
  const Count rounds = cost_of(plan).rounds;
  if (parted(problem.collective)) {
    // Parts that travel in another order are put in place one by one.
    if (!rooted(problem.collective)) return rounds;
    Count stretches = 1;
    for (std::size_t i = 1; i < plan.order.size(); ++i) {
      if (plan.order[i] != plan.order[i - 1] + 1) ++stretches;
    }
    return std::max<Count>(rounds, stretches / 2);
  }
  const auto asked = plan.parameters.find("segments");
  const Count pieces = asked == plan.parameters.end() ? problem.count + ceil_log2(problem.ranks)
                                                      : std::min(asked->second, problem.count);
  return std::min(rounds, 2 * pieces + 1);
}

}  // namespace

std::size_t memory_of(const Plan& plan) {
  const Algorithm& row = find_algorithm(plan.problem.collective, plan.algorithm);
  std::size_t bytes = sizeof(Plan) + plan.parameters.size() * kParameter +
                      plan.order.size() * sizeof(Rank) + plan.table.size() * sizeof(Count) +
                      plan.problem.parts.size() * sizeof(Count) +
                      plan.placement.size() * sizeof(Rank) + kProgram;
  for (const Plan& inner : plan.inner) bytes += memory_of(inner);
  if (row.kind != Kind::program) return bytes + 3 * plan.order.size() * sizeof(Rank);
  const Count each = combines(plan.problem.collective) ? 3 : 2;  // receive, send, and combine
  const Count operations = each * (transfers_of(plan) + 1) + operations_on_node(plan);
  const bool tells = row.informs_all != nullptr && row.informs_all(plan);
  const Count telling = plan.telemetry && !tells ? 2 * ceil_log2(plan.problem.ranks) : 0;
  return bytes + kOperation * static_cast<std::size_t>(operations + telling);
}

std::vector<Rival> rivals(const Plan& fastest, const Knowledge& knowledge) {
  Knowledge balanced = knowledge;
  balanced.arrivals.clear();
  if (find_algorithm(fastest.problem.collective, fastest.algorithm).lifts) {
    balanced.placement.clear();
    return rivals_among_nodes(fastest, balanced);
  }
  const Network& network = knowledge.network;
  Network doubted = network;
  doubted.exchange = std::max(network.exchange, kExchange);
  const Seconds least = balanced_time(fastest, network);
  // What a rooted program costs depends more on who waits for whom.
  const bool all_compete = rooted(fastest.problem.collective);
  Knowledge doubting = balanced;
  doubting.network = doubted;
  std::vector<std::pair<Seconds, Rival>> found;
  for (const Algorithm& row : registry(fastest.problem.collective)) {
    const bool other = row.kind == Kind::program && !row.arrival_aware && !row.stands_for_others;
    if (!other || !may_pay(row, fastest.problem, network)) continue;
    const Plan plan = make_plan(row, fastest.problem, {}, doubting);
    const bool same = row.name == fastest.algorithm;
    if (same && plan.parameters == fastest.parameters) continue;
    if (!all_compete && balanced_time(plan, network) > kDoubt * least) continue;
    Rival rival{{&row, {}}, std::string(row.name)};
    if (same) rival = {{&row, plan.parameters}, rival.name + "'"};
    found.emplace_back(balanced_time(plan, doubted), std::move(rival));
  }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  std::vector<Rival> all;
  const std::size_t most = all_compete ? found.size() : kMost;
  for (std::size_t i = 0; i < found.size() && all.size() < most; ++i) {
    const bool alike = i > 0 && found[i].first == found[i - 1].first;  // one algorithm, two names
    if (!alike) all.push_back(std::move(found[i].second));
  }
  return all;
}

}  // namespace latecomer
