// Online owners: the timetable of early owners, made while ranks arrive. Nothing needs to be known
// about arrivals beforehand.
//
// All ranks that have arrived extend the same timetable, from a log of who takes part from which
// round on (online_rank.hpp). Cost: after the last arrival about as early owners with the arrivals
// known, and two or three rounds more, as long as few of m/K beta take. Use it for long vectors
// where lateness cannot be forecast. Source: own.
#include <algorithm>
#include <cmath>

#include "algorithms/owners/online_protocol.hpp"
#include "algorithms/owners/planning.hpp"
#include "algorithms/plans.hpp"
#include "algorithms/row.hpp"
#include "base/error.hpp"
#include "base/partition.hpp"
#include "patterns/powers.hpp"

namespace latecomer::owners {
namespace {

constexpr Count kMostStep = 1024;
constexpr Count kMostWindow = 4096;    // rounds have room in a control message
constexpr Count kMostChildren = 1024;  // the numbers of the tree's places have room in a Rank

/// The first rank with the least number: until the coordinator arrives nothing can be done, unless
/// it has a progress thread.
Rank first_of(const std::vector<Seconds>& numbers) {
  if (numbers.empty()) return 0;
  return static_cast<Rank>(std::ranges::min_element(numbers) - numbers.begin());
}

/// The time of a round: of the longest block.
Seconds round_time(const Plan& plan, const Network& network) {
  const Count bytes = longest_block(plan) * plan.problem.element_bytes;
  return std::max(network.occupancy(bytes), 1e-12);
}

/// An inner rank of the tree sends `children` + 1 control messages for each step, and a rank that
/// arrives waits for about as many rounds as a step has: the number for which both take least.
/// Steps of more than two rounds were no better with start-ups of up to a tenth of a round.
Count best_step(const Plan& plan, const Network& network) {
  const double messages = static_cast<double>(plan.parameters.at("children")) + 1;
  const double part = messages * network.alpha / round_time(plan, network);
  const double rounds = std::sqrt(part * static_cast<double>(blocks_of(plan)));
  return std::clamp<Count>(std::llround(rounds), 1, 2);
}

/// While reports go up the tree and the horizon comes down, blocks must be left to send: those of a
/// step, and as many as are sent meanwhile.
Count best_window(const Plan& plan, const Network& network) {
  const double ways = 2 * (1 + ceil_log2(plan.problem.ranks));
  const double rounds = ways * network.alpha / round_time(plan, network);
  return plan.parameters.at("step") + 1 + static_cast<Count>(std::min(rounds + 0.75, 1e3));
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  plan_blocks_of_owners(plan, knowledge);
  // A setting is for communicators of all sizes: it is cut where it is too large for this one.
  const auto fill = [&](const char* name, const auto& otherwise, Count most) {
    const auto asked = plan.parameters.find(name);
    const Count value = asked == plan.parameters.end() ? otherwise() : asked->second;
    plan.parameters[name] = std::min(value, most);
  };
  fill("coordinator", [&] { return first_of(knowledge.for_tasks()); }, plan.problem.ranks - 1);
  fill("children", [] { return 2; }, kMostChildren);
  fill("step", [&] { return best_step(plan, knowledge.network); }, kMostStep);
  fill("window", [&] { return best_window(plan, knowledge.network); }, kMostWindow);
}

void check_at_most(const Plan& plan, const char* name, Count most) {
  const Count value = plan.parameters.at(name);
  if (value > most) throw Error(name, std::to_string(value), "at most " + std::to_string(most));
}

void check(const Plan& plan) {
  check_blocks_of_owners(plan);
  if (!plan.order.empty() || !plan.table.empty()) refuse_table(plan, "none, and no order");
  check_at_most(plan, "coordinator", plan.problem.ranks - 1);
  check_at_most(plan, "step", kMostStep);
  check_at_most(plan, "window", kMostWindow);
  check_at_most(plan, "children", kMostChildren);
}

/// The rounds of the timetable. Before them all ranks tell the coordinator, one after another, and
/// the last one hears the log down the tree. In an all-gather of long parts the first two ranks
/// soon have nothing to send before others enter, a window later.
Cost cost(const Plan& plan) {
  const Rank ranks = plan.problem.ranks;
  const bool gathers = !combines(plan.problem.collective);
  const Count pieces = blocks_of(plan) / ranks;
  const Count alone = gathers && ranks > 2 ? std::min(plan.parameters.at("window"), pieces - 1) : 0;
  const Count rounds = balanced_rounds(plan) + alone;
  const Count longest = longest_block(plan);
  const Count control = ranks + ceil_log2(ranks);
  const Count combined = gathers ? 0 : longest;
  return {rounds + control, rounds * longest, combined, 0, true};
}

/// By the timetable for these arrivals; each rank takes part a window after its arrival, and
/// without a progress thread not before the coordinator's.
Seconds mean_after_last(const Plan& plan, const Network& network,
                        const std::vector<Seconds>& arrivals) {
  std::vector<Seconds> heard = arrivals;
  if (plan.progress == Progress::foreground) {
    const Seconds first = arrivals[static_cast<std::size_t>(plan.parameters.at("coordinator"))];
    for (Seconds& each : heard) each = std::max(each, first);
  }
  Plan early = plan;
  plan_arrivals_of_owners(early, heard, network);
  const auto window = static_cast<double>(plan.parameters.at("window"));
  const Seconds messages = 2 * ceil_log2(plan.problem.ranks) * network.alpha;
  return planned_time(early, network) + window * round_of(plan, network) + messages;
}

Algorithm row(std::string_view blocks, std::string_view formula) {
  return {.coordinated = true,
          .commutative_only = true,
          .runs_ahead = true,
          .scratch_messages = 2,
          .parameters = online_parameters(
              blocks, "the rank that orders arrivals; default: one that mostly comes early"),
          .cost_formula = formula,
          .source = "own",
          .fill_plan = fill_plan,
          .check = check,
          .cost = cost,
          .mean_after_last = mean_after_last,
          .informs_all = informs_unless_empty,
          .worth_planning = worth_planning_owners,
          .executor = executor_of<OnlineExecutor>};
}

}  // namespace

std::vector<Parameter> online_parameters(std::string_view blocks, std::string_view coordinator) {
  return {
      {"blocks", blocks, 1, {}},
      {"coordinator", coordinator, 0, {}},
      {"step", "rounds that are reported at a time, at most 1024; default: by cost", 1, {}},
      {"window",
       "rounds that the fastest may be ahead of the slowest one, at most 4096; default: by cost",
       1,
       {}},
      {"children", "how many each passes on control messages to, at most 1024; default: 2", 1, {}}};
}

}  // namespace latecomer::owners

namespace latecomer::allreduce {

LATECOMER_ROW(allreduce, online_owners) {
  return owners::row(
      "of the vector, at most 4096; default: by cost",
      "about (2 K (P-1)/P + ceil(log2 P))(alpha + m/K beta) + (P + ceil(log2 P)) alpha");
}

}  // namespace latecomer::allreduce

namespace latecomer::allgather {

LATECOMER_ROW(allgather, online_owners) {
  Algorithm row =
      owners::row("of the vector, a multiple of P, at most 4096; default: by cost",
                  "about (K (P-1)/P + ceil(log2 P))(alpha + m/K beta) + (P + ceil(log2 P)) alpha");
  row.commutative_only = false;
  row.scratch_messages = 0;
  return row;
}

}  // namespace latecomer::allgather
