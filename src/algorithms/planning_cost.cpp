#include "algorithms/planning_cost.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/moving/replay.hpp"
#include "base/partition.hpp"
#include "patterns/pipeline.hpp"
#include "patterns/powers.hpp"

namespace latecomer {
namespace {

/// Microseconds; P ranks, S segments.
struct Effort {
  double once = 0;
  double rank = 0;     // times P
  double level = 0;    // times P log2 P
  double list = 0;     // times P log2 P while a list of so many messages is replayed
  double pair = 0;     // times P^2 for at most `pairs_to` ranks
  double segment = 0;  // times S
  double hop = 0;      // times P S
  double played = 0;   // times P S while so many are played
  Rank pairs_to = 64;
};

/// Of what nobody has measured.
constexpr Effort kUsual{.once = 20, .rank = 2, .level = 0.2, .segment = 1};

struct Row {
  Collective collective;
  std::string_view name;
  Effort effort;
};

/// Fitted to the dearest of the arrivals in each cell of evidence/planning_time.py, so that 95 % of
/// the cells take less.
constexpr Row kRows[] = {
    {Collective::allgather, "bruck", {.once = 12, .rank = 0.024}},
    {Collective::allgather, "disseminated_ring", {.once = 5, .rank = 3.5, .pair = 0.75}},
    {Collective::allgather, "fastest", {.once = 29, .rank = 0.59, .list = 2}},
    {Collective::allgather, "gather_bcast", {.once = 4.5, .rank = 1.2, .level = 0.18}},
    {Collective::allgather, "late_doubling", {.once = 6, .rank = 1.5, .pair = 0.9}},
    {Collective::allgather, "neighbor_exchange", {.once = 7.6, .rank = 0.46, .pair = 0.49}},
    {Collective::allgather, "recursive_doubling", {.once = 6.7, .rank = 0.39, .list = 0.99}},
    {Collective::allgather, "ring", {.once = 4.4, .rank = 0.84, .pair = 0.73}},
    {Collective::allgather, "sorted_gather_bcast", {.once = 10, .rank = 1.5, .pair = 0.86}},
    {Collective::allreduce, "circulant", {.once = 26, .rank = 0.41, .list = 0.053}},
    {Collective::allreduce, "dual_root", {.once = 17, .rank = 0.77, .segment = 0.69}},
    {Collective::allreduce, "early_owners", {.once = 12, .rank = 0.3, .hop = 0.35}},
    {Collective::allreduce, "fastest", {.once = 33, .rank = 3.1, .pair = 0.016, .segment = 0.49}},
    {Collective::allreduce, "generalized", {.once = 28, .rank = 0.88, .list = 0.2}},
    {Collective::allreduce, "linear_tree", {.once = 26, .rank = 0.15, .segment = 2.5}},
    {Collective::allreduce, "pipelined_tree", {.once = 20, .rank = 1.4, .segment = 0.4}},
    {Collective::allreduce,
     "prereduced_ring",
     {.once = 10, .rank = 1.7, .pair = 0.025, .pairs_to = 256}},
    {Collective::allreduce, "rabenseifner", {.once = 16, .rank = 0.0054}},
    {Collective::allreduce,
     "recursive_doubling",
     {.once = 6.3, .rank = 0.027, .list = 0.0017, .pair = 0.00048}},
    {Collective::allreduce, "reduce_bcast", {.once = 7.1, .rank = 0.076}},
    {Collective::allreduce, "ring", {.once = 22, .rank = 1.8}},
    {Collective::allreduce, "segmented_ring", {.once = 23, .rank = 2.2}},
    {Collective::allreduce, "sorted_linear_tree", {.once = 21, .rank = 1.4, .segment = 2.2}},
    {Collective::allreduce,
     "straggler_exchange",
     {.once = 10, .rank = 2.5, .pair = 0.045, .pairs_to = 128}},
    {Collective::allreduce, "two_tree", {.once = 25, .rank = 3.7}},
    {Collective::bcast, "arrival_b", {.once = 9.2, .rank = 0.079, .list = 0.00036, .played = 0.42}},
    {Collective::bcast,
     "arrival_nb",
     {.once = 7.2, .level = 0.0058, .list = 0.0017, .played = 0.49}},
    {Collective::bcast, "binomial", {.once = 6.4, .level = 0.1}},
    {Collective::bcast, "fastest", {.once = 75, .rank = 1.4, .list = 0.48}},
    {Collective::bcast, "flat", {.once = 5, .rank = 0.16, .level = 0.068, .pair = 0.0024}},
    {Collective::bcast, "linear", {.once = 15, .rank = 0.13, .segment = 0.96}},
    {Collective::bcast,
     "scatter_allgather",
     {.once = 42, .rank = 0.87, .list = 0.57, .pair = 0.57}},
    {Collective::bcast, "sorted_linear", {.once = 9.6, .rank = 0.86, .segment = 0.74}},
    {Collective::gather, "binomial", {.once = 3.6, .rank = 1.2}},
    {Collective::gather, "fastest", {.once = 4.8, .rank = 1.3}},
    {Collective::gather, "linear_sync", {.once = 5, .rank = 0.65, .level = 0.07}},
    {Collective::gather, "sorted_binomial", {.once = 3.1, .rank = 2.7}},
    {Collective::gather, "sorted_linear_sync", {.once = 8.5, .level = 0.22}},
    {Collective::reduce, "binary_tree", {.once = 29, .level = 0.52, .segment = 0.5}},
    {Collective::reduce, "binomial", {.once = 7.5, .rank = 0.14}},
    {Collective::reduce, "direct_send", {.once = 13, .rank = 1.6}},
    {Collective::reduce, "fastest", {.once = 37, .level = 0.55, .segment = 0.72}},
    {Collective::reduce, "linear", {.once = 4.8, .rank = 0.51}},
    {Collective::reduce, "linear_tree", {.once = 9.2, .rank = 0.096, .segment = 1.3}},
    {Collective::reduce, "local_redirect", {.once = 0.99, .rank = 0.34, .level = 0.082}},
    {Collective::reduce, "rabenseifner", {.once = 28}},
    {Collective::reduce, "sorted_linear_tree", {.once = 9.1, .rank = 0.81, .segment = 1.5}},
    {Collective::reduce, "static_tree", {.once = 11, .level = 0.068}},
    {Collective::scatter, "binomial", {.once = 5, .rank = 0.35, .level = 0.051}},
    {Collective::scatter, "fastest", {.once = 5.5, .rank = 1.1}},
    {Collective::scatter, "linear", {.once = 4.2, .rank = 1.1}},
    {Collective::scatter, "sorted_binomial", {.once = 3.3, .rank = 2.3}},
    {Collective::scatter, "sorted_linear", {.once = 6.2, .rank = 1.5}},
};

Effort effort_of(const Algorithm& row) {
  const auto* const found = std::ranges::find_if(kRows, [&](const Row& each) {
    return each.collective == row.collective && each.name == row.name;
  });
  return found == std::end(kRows) ? kUsual : found->effort;
}

/// About as many as the best pipeline has.
double segments_of(const Problem& problem, const Network& network) {
  const double most = static_cast<double>(max_segments(problem.count));
  const double link = problem.ranks * network.beta * static_cast<double>(problem.bytes());
  const double best = network.alpha > 0 ? std::sqrt(link / network.alpha) : most;
  const Count eager = network.handshake > 0 ? eager_parts(problem.bytes(), network) : 1;
  return std::clamp(std::max(best, static_cast<double>(eager)), 1.0, most);
}

constexpr double kMicrosecond = 1e-6;
constexpr double kCold = 1.3;  // caches that a call has left, unlike those of repeated measurements

/// `auto` makes the plans of all candidates.
Seconds cost_of_all(const Problem& problem, const Network& network) {
  Seconds sum = 0;
  for (const Algorithm& row : registry(problem.collective)) {
    const bool candidate = row.name == "fastest" || (row.arrival_aware && row.name != "auto");
    if (candidate && may_pay(row, problem, network)) sum += planning_cost(row, problem, network);
  }
  return sum;
}

}  // namespace

Seconds planning_cost(const Algorithm& row, const Problem& problem, const Network& network) {
  if (row.kind == Kind::native) return 0;
  if (row.name == "auto") return cost_of_all(problem, network);
  const Effort effort = effort_of(row);
  const auto within = [](double number, Count most) {
    return number <= static_cast<double>(most) ? number : 0;
  };
  const double ranks = problem.ranks;
  const double levels = ranks * ceil_log2(problem.ranks);
  const double segments = segments_of(problem, network);
  const bool listed = within(levels + ranks, moving::kMostReplayed) > 0;
  return kCold * kMicrosecond *
         (effort.once + effort.rank * ranks + effort.level * levels +
          effort.list * (listed ? levels : 0) +
          effort.pair * (problem.ranks <= effort.pairs_to ? ranks * ranks : 0) +
          effort.segment * segments + effort.hop * ranks * segments +
          effort.played * within(ranks * segments, moving::kMostReplayed));
}

namespace {

constexpr std::size_t kProgram = 1500;   // bytes of one without operations
constexpr std::size_t kOperation = 160;  // of one with its dependencies, vectors having grown
constexpr std::size_t kParameter = 80;   // of one in its map

/// Transfers of one rank: no more than those that follow each other, and of a vector cut into
/// segments no more than its way up and down a tree of two children takes.
Count transfers_of(const Plan& plan) {
  const Problem& problem = plan.problem;
  const Count rounds = cost_of(plan).rounds;
  if (parted(problem.collective)) {
    // Parts that travel in another order are put in place one by one.
    const bool reordered = rooted(problem.collective) && !plan.order.empty();
    return reordered ? std::max<Count>(rounds, problem.ranks / 2) : rounds;
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
  const std::size_t bytes = sizeof(Plan) + plan.parameters.size() * kParameter +
                            plan.order.size() * sizeof(Rank) + plan.table.size() * sizeof(Count) +
                            plan.problem.parts.size() * sizeof(Count) + kProgram;
  if (row == nullptr || row->kind != Kind::program)
    return bytes + 3 * plan.order.size() * sizeof(Rank);
  const Count each = combines(plan.problem.collective) ? 3 : 2;  // a message in, one out
  const Count operations = each * (transfers_of(plan) + 1);
  const bool tells = row->tells != nullptr && row->tells(plan);
  const Count telling = plan.telemetry && !tells ? 2 * ceil_log2(plan.problem.ranks) : 0;
  return bytes + kOperation * static_cast<std::size_t>(operations + telling);
}

}  // namespace latecomer
