#include "price/planning_cost.hpp"

#include <algorithm>
#include <cmath>

#include "base/partition.hpp"
#include "patterns/pipeline.hpp"
#include "patterns/powers.hpp"
#include "price/on_nodes.hpp"
#include "price/price.hpp"
#include "price/ways.hpp"

namespace latecomer {
namespace {

/// The terms of an estimate in microseconds, for P ranks and S segments.
struct Effort {
  double once = 0;
  double rank = 0;     // times P
  double level = 0;    // times P log2 P
  double pair = 0;     // times P^2 for at most `pairs_to` ranks: more are not replayed
  double segment = 0;  // times S
  double hop = 0;      // times P S, likewise
  double block = 0;    // times the blocks of a broadcast in ceil(log2 P) rounds and one a block
  Rank pairs_to = kMaxReplayedRanks;
};

/// The estimate for rows that nobody has measured.
constexpr Effort kUsual{.once = 20, .rank = 2, .level = 0.2, .pair = 2, .segment = 1};

struct Row {
  Collective collective;
  std::string_view name;
  Effort effort;
};

/// Fitted to the dearest of the arrivals in each cell of evidence/planning_time.py, so that 95 % of
/// the cells take less.
constexpr Row kRows[] = {
    {Collective::allgather, "bruck", {.once = 5.4, .rank = 0.013, .pair = 0.00012}},
    {Collective::allgather, "disseminated_ring", {.once = 20, .pair = 4.7}},
    {Collective::allgather, "fastest", {.once = 25, .rank = 0.077, .pair = 0.002}},
    {Collective::allgather, "gather_bcast", {.once = 4, .rank = 0.14, .level = 0.048}},
    {Collective::allgather,
     "late_doubling",
     {.once = 13, .rank = 0.31, .level = 0.087, .pair = 2.1}},
    {Collective::allgather,
     "neighbor_exchange",
     {.once = 3.8, .rank = 0.17, .level = 0.0073, .pair = 8.1e-05}},
    {Collective::allgather,
     "recursive_doubling",
     {.once = 7.4, .rank = 0.063, .level = 0.0091, .pair = 2.3e-05}},
    {Collective::allgather, "ring", {.once = 4.3, .rank = 0.3, .level = 0.038}},
    {Collective::allgather, "sorted_gather_bcast", {.once = 20, .rank = 5.8, .pair = 1.6}},
    {Collective::allreduce, "circulant", {.once = 10, .rank = 0.24, .pair = 0.0015}},
    {Collective::allreduce,
     "dual_root",
     {.once = 8.3, .rank = 0.082, .level = 0.0029, .segment = 0.12, .hop = 0.00016}},
    {Collective::allreduce, "early_owners", {.once = 12, .rank = 0.3, .hop = 0.35}},
    {Collective::allreduce, "fastest", {.once = 24, .rank = 2.5, .pair = 0.0013}},
    {Collective::allreduce,
     "generalized",
     {.once = 19, .rank = 1, .pair = 0.007, .segment = 0.14, .hop = 0.0014}},
    {Collective::allreduce,
     "linear_tree",
     {.once = 9.1, .rank = 0.082, .pair = 5.2e-05, .segment = 1.5}},
    {Collective::allreduce, "online_owners", {.once = 12, .rank = 0.3, .hop = 0.35}},
    {Collective::allreduce,
     "pipelined_tree",
     {.once = 8.1, .level = 0.035, .segment = 0.073, .hop = 0.0012}},
    {Collective::allreduce, "prereduced_circulant", {.once = 20, .rank = 0.0025, .block = 1.2}},
    {Collective::allreduce,
     "prereduced_ring",
     {.once = 10, .rank = 1.7, .pair = 0.025, .pairs_to = 256}},
    {Collective::allreduce, "rabenseifner", {.once = 11}},
    {Collective::allreduce, "recursive_doubling", {.once = 6.9, .rank = 5.4e-05, .pair = 1.1e-05}},
    {Collective::allreduce, "reduce_bcast", {.once = 5.9, .rank = 0.0056, .pair = 0.00014}},
    {Collective::allreduce, "ring", {.once = 5.7, .rank = 1.3, .pair = 0.0087}},
    {Collective::allreduce,
     "segmented_ring",
     {.once = 7.7, .rank = 1.5, .pair = 0.0056, .segment = 0.049, .hop = 0.00014}},
    {Collective::allreduce, "sorted_linear_tree", {.once = 13, .rank = 1.2, .segment = 2}},
    {Collective::allreduce, "straggler_exchange", {.once = 10, .rank = 2.5, .pair = 4}},
    {Collective::allreduce, "two_tree", {.once = 21, .rank = 3.7, .segment = 0.36}},
    {Collective::bcast,
     "arrival_b",
     {.once = 5.1, .rank = 0.00065, .pair = 1.7e-06, .segment = 0.0058, .hop = 6.4e-05}},
    {Collective::bcast,
     "arrival_nb",
     {.once = 6.7, .rank = 0.00053, .level = 4e-05, .pair = 1.1e-05}},
    {Collective::bcast, "binomial", {.once = 5.2, .rank = 0.018, .pair = 3.9e-05}},
    {Collective::bcast, "fastest", {.once = 29, .rank = 0.049, .segment = 0.39}},
    {Collective::bcast, "flat", {.once = 5, .rank = 0.11, .level = 0.004}},
    {Collective::bcast,
     "linear",
     {.once = 7.3, .rank = 0.064, .level = 0.00089, .segment = 0.49, .hop = 0.00099}},
    {Collective::bcast, "scatter_allgather", {.once = 11, .rank = 0.4, .level = 0.0058}},
    {Collective::bcast,
     "sorted_linear",
     {.once = 8.7, .rank = 0.59, .level = 0.013, .segment = 0.66, .hop = 0.00018}},
    {Collective::gather, "binomial", {.once = 4.8, .rank = 0.059, .pair = 6.9e-05}},
    {Collective::gather, "fastest", {.once = 5.3, .rank = 0.074, .pair = 8.8e-05}},
    {Collective::gather,
     "linear_sync",
     {.once = 3.8, .rank = 0.17, .level = 0.0093, .pair = 0.00021}},
    {Collective::gather, "sorted_binomial", {.once = 21, .rank = 1.1, .pair = 0.24}},
    {Collective::gather, "sorted_linear_sync", {.once = 22, .rank = 0.66, .pair = 0.15}},
    {Collective::reduce,
     "binary_tree",
     {.once = 14, .rank = 0.16, .level = 0.016, .segment = 0.21, .hop = 0.0056}},
    {Collective::reduce, "binomial", {.once = 5, .rank = 0.0049, .pair = 8.5e-05}},
    {Collective::reduce, "clairvoyant", {.once = 30, .rank = 2, .pair = 0.2, .hop = 0.6}},
    {Collective::reduce, "direct_send", {.once = 6, .rank = 1, .pair = 0.0023}},
    {Collective::reduce, "fastest", {.once = 63, .rank = 0.72, .level = 0.022, .segment = 0.34}},
    {Collective::reduce, "linear", {.once = 3, .rank = 0.35, .level = 0.0031, .pair = 3.1e-05}},
    {Collective::reduce,
     "linear_tree",
     {.once = 6.7, .rank = 0.043, .level = 0.0024, .segment = 0.96, .hop = 0.0013}},
    {Collective::reduce, "local_redirect", {.once = 1.9, .rank = 0.0033, .pair = 8.1e-06}},
    {Collective::reduce, "rabenseifner", {.once = 6.8, .rank = 0.012, .pair = 0.00023}},
    {Collective::reduce,
     "sorted_linear_tree",
     {.once = 11, .rank = 0.45, .level = 0.02, .segment = 1.6}},
    {Collective::reduce, "static_tree", {.once = 24, .rank = 0.11, .level = 0.048, .pair = 0.22}},
    {Collective::scatter, "binomial", {.once = 4.8, .rank = 0.059, .pair = 7.3e-05}},
    {Collective::scatter, "fastest", {.once = 6.5, .rank = 0.092, .pair = 6.7e-05}},
    {Collective::scatter, "linear", {.once = 4.3, .rank = 0.12, .level = 0.018, .pair = 0.00054}},
    {Collective::scatter, "sorted_binomial", {.once = 24, .rank = 1.1, .pair = 0.2}},
    {Collective::scatter, "sorted_linear", {.once = 22, .rank = 0.61, .pair = 0.15}},
};

Effort effort_of(const Algorithm& row) {
  const auto* const found = std::ranges::find_if(kRows, [&](const Row& each) {
    return each.collective == row.collective && each.name == row.name;
  });
  return found == std::end(kRows) ? kUsual : found->effort;
}

/// Returns about as many segments as the best pipeline has.
double segments_of(const Problem& problem, const Network& network) {
  const double most = static_cast<double>(max_segments(problem.count));
  const double link = problem.ranks * network.beta * static_cast<double>(problem.bytes());
  const double best = network.alpha > 0 ? std::sqrt(link / network.alpha) : most;
  const Count eager = network.handshake > 0 ? eager_parts(problem.bytes(), network) : 1;
  return std::clamp(std::max(best, static_cast<double>(eager)), 1.0, most);
}

double blocks_of(const Problem& problem, const Network& network) {
  const double most = static_cast<double>(max_segments(problem.count));
  const double vector = network.beta * static_cast<double>(problem.bytes());
  const double best = std::sqrt(ceil_log2(problem.ranks) * vector / std::max(network.alpha, 1e-9));
  return std::clamp(best, 1.0, most);
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
    const bool candidate = row.name == "fastest" || (row.arrival_aware && row.name != "auto");
    if (!candidate || !may_pay(row, problem, network, placement)) continue;
    const auto tried = ways(row, problem, network, placement, true).size();
    sum += static_cast<double>(tried) * planning_cost(row, problem, network, placement);
  }
  return sum;
}

/// The arrival-aware row among the nodes that is the dearest to plan.
Seconds dearest_among(const Problem& among, const Network& network) {
  Seconds dearest = 0;
  for (const Algorithm& row : registry(among.collective)) {
    const bool candidate = row.kind == Kind::program && row.arrival_aware && row.name != "auto" &&
                           row.name != kNodesRow;
    if (!candidate || !may_pay(row, among, network)) continue;
    dearest = std::max(dearest, planning_cost(row, among, network));
  }
  return dearest;
}

/// The operations of a rank on the memory of its node, about.
double likely_operations(const Problem& problem, const Placement& placement) {
  Plan likely;
  likely.problem = problem;
  likely.placement = placement;
  likely.parameters["pieces"] = std::clamp<Count>(problem.bytes() / 32768, 1, 64);
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
  Seconds cost = planning_cost(find_algorithm(problem.collective, "fastest"), among, network) +
                 program_on_node(operations);
  if (!row.arrival_aware) return cost;
  cost += dearest_among(among, network);
  const double all = problem.ranks * operations;
  const bool replayed =
      problem.ranks <= kMaxReplayedRanks && all <= static_cast<double>(kMaxReplayedOnNodes);
  return cost + kCold * kMicrosecond * (replayed ? all : 0);
}

}  // namespace

Seconds planning_cost(const Algorithm& row, const Problem& problem, const Network& network,
                      const Placement& placement) {
  if (row.kind == Kind::native) return 0;
  if (row.name == "auto") return cost_of_all(problem, network, placement);
  const bool on_nodes = row.name == kNodesRow || row.name == "fastest";
  if (on_nodes && by_nodes(problem.collective, placement)) {
    return cost_on_nodes(row, problem, network, placement);
  }
  if (row.name == kOnlineNodesRow && shares_nodes(placement)) {
    return planning_cost(find_algorithm(problem.collective, "online_owners"),
                         problem_of_nodes(problem, placement), network) +
           program_on_node(likely_operations(problem, placement));
  }
  const Effort effort = effort_of(row);
  const double ranks = problem.ranks;
  const double levels = ranks * ceil_log2(problem.ranks);
  const double segments = segments_of(problem, network);
  const bool paired = problem.ranks <= effort.pairs_to;
  return kCold * kMicrosecond *
         (effort.once + effort.rank * ranks + effort.level * levels + effort.segment * segments +
          effort.block * blocks_of(problem, network) +
          (paired ? effort.pair * ranks * ranks + effort.hop * ranks * segments : 0));
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
  const Algorithm* const row = plan.algorithm == "native"
                                   ? nullptr
                                   : &find_algorithm(plan.problem.collective, plan.algorithm);
  std::size_t bytes = sizeof(Plan) + plan.parameters.size() * kParameter +
                      plan.order.size() * sizeof(Rank) + plan.table.size() * sizeof(Count) +
                      plan.problem.parts.size() * sizeof(Count) +
                      plan.placement.size() * sizeof(Rank) + kProgram;
  for (const Plan& inner : plan.inner) bytes += memory_of(inner);
  if (row == nullptr || row->kind != Kind::program)
    return bytes + 3 * plan.order.size() * sizeof(Rank);
  const Count each = combines(plan.problem.collective) ? 3 : 2;  // receive, send, and combine
  const Count operations = each * (transfers_of(plan) + 1) + operations_on_node(plan);
  const bool tells = row->informs_all != nullptr && row->informs_all(plan);
  const Count telling = plan.telemetry && !tells ? 2 * ceil_log2(plan.problem.ranks) : 0;
  return bytes + kOperation * static_cast<std::size_t>(operations + telling);
}

}  // namespace latecomer
