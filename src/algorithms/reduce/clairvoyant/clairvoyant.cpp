// Clairvoyant: a segmented reduction whose messages follow from the known arrivals. In each round
// of a timetable (timetable.cpp) every rank sends and receives at most one segment; the ranks that
// have arrived reduce as many segments as they can, and the last ones find little left to do.
//
// Cost: about (S - 1 + ceil(log2 P))(alpha + m/S beta) when all arrive together, where a chain has
// S + P - 2 rounds; after one late rank S rounds, the least possible. Use it for vectors of middle
// length, and for one late rank.
//
// Published are the aim (a segmented reduction, scheduled in rounds before the transfer from known
// arrivals, so that early ranks reduce as many segments as they can) and measurements: Marendic,
// Lemeire, Vucinic and Schelkens 2016, as Proficz 2018 and 2021 and Proficz and Ocetkiewicz 2020
// describe it. The listing was not at hand: all rules of the timetable are reconstructed here, and
// its numbers of rounds are ours, not the paper's.
#include <algorithm>
#include <cmath>
#include <memory>

#include "algorithms/plans.hpp"
#include "algorithms/reduce/clairvoyant/timetable.hpp"
#include "algorithms/reduce/tree_fold.hpp"
#include "algorithms/segments.hpp"
#include "base/error.hpp"
#include "base/threads.hpp"
#include "patterns/powers.hpp"

namespace latecomer::reduce {
namespace {

constexpr Count kMostHops = 20'000;    // to limit the time of planning
constexpr Rank kMaxRanks = 128;        // where planning takes some milliseconds at most
constexpr Count kMostSegments = 4096;  // that a user can ask for

Count segments_of(const Plan& plan) { return plan.parameters.at("segments"); }

Count most_segments(const Problem& problem) {
  return std::clamp<Count>(problem.count, 1, kMostSegments);
}

/// The last round in which a rank may arrive in a plan: one that is earlier than the last one by as
/// many has all the time it needs.
Count last_round(const Plan& plan) {
  return 2 * segment_window(plan.problem.ranks, segments_of(plan));
}

/// A timetable's arrivals, segments and root.
struct Asked {
  std::vector<Count> arrivals;
  Count segments = 0;
  Rank root = 0;

  bool operator==(const Asked&) const = default;
};

/// The last timetables made on this thread are kept, for the programs of several ranks and for
/// prices.
std::shared_ptr<const SegmentTimetable> timetable(const Asked& asked) {
  return PerThread<Asked, Kept<Asked, SegmentTimetable>>::get().get(asked, [](const Asked& key) {
    return make_segment_timetable(key.arrivals, key.segments, key.root);
  });
}

/// `combined`: segments that no transfer hides.
Cost cost_of_rounds(const Plan& plan, Count rounds, Count combined) {
  const Count longest = Partition(plan.problem.count, segments_of(plan)).longest();
  return {rounds, rounds * longest, combined * longest, 0, true};
}

/// The rounds of the timetable in which ranks arrive, rounded so that a plan is often found again.
std::vector<Count> in_rounds(const Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  std::vector<Count> rounds(static_cast<std::size_t>(problem.ranks), 0);
  const Seconds round = hockney_time(problem, cost_of_rounds(plan, 1, 0), knowledge.network);
  if (knowledge.arrivals.empty() || !(round > 0)) return rounds;
  const Seconds last = std::ranges::max(knowledge.arrivals);
  const auto most = static_cast<double>(last_round(plan));
  const double step = std::max(1.0, static_cast<double>(segments_of(plan)) / 64);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const double earlier = std::min((last - knowledge.arrivals[i]) / round, most);
    rounds[i] = -std::llround(std::floor(earlier / step) * step);
  }
  const Count first = std::ranges::min(rounds);
  for (Count& each : rounds) each -= first;
  return rounds;
}

/// The number of segments that is best where all ranks arrive together.
Count best_together(const Problem& problem, const Network& network) {
  Plan tried;
  tried.problem = problem;
  const Count best = best_segments(most_segments(problem), [&](Count segments) {
    tried.parameters["segments"] = segments;
    const Count levels = ceil_log2(problem.ranks);
    return hockney_time(problem, cost_of_rounds(tried, segments - 1 + levels, levels), network);
  });
  return std::min(best, std::max<Count>(1, kMostHops / problem.ranks));
}

/// The time from the last arrival to the end.
Seconds time_after_last(const Plan& plan, const Network& network) {
  const Count rounds = timetable({plan.table, segments_of(plan), plan.problem.root})->rounds;
  const Cost cost = cost_of_rounds(plan, rounds - std::ranges::max(plan.table), 1);
  return hockney_time(plan.problem, cost, network);
}

/// The table: the round in which each rank arrives. Fewer segments are better where the ranks that
/// are there reduce nearly all before the last one arrives: then it has no pipeline to fill.
void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const auto asked = plan.parameters.find("segments");
  const bool given = asked != plan.parameters.end();
  Count segments = given ? std::min(asked->second, most_segments(problem))
                         : best_together(problem, knowledge.network);
  const auto planned = [&](Count number) {
    Plan tried = plan;
    tried.parameters["segments"] = number;
    tried.table = in_rounds(tried, knowledge);
    return tried;
  };
  Plan best = planned(segments);
  while (!given && segments > 1 && std::ranges::max(best.table) > 0) {
    segments /= 2;
    Plan other = planned(segments);
    if (time_after_last(other, knowledge.network) < time_after_last(best, knowledge.network)) {
      best = std::move(other);
    }
  }
  plan = std::move(best);
}

void check(const Plan& plan) {
  const Count most = most_segments(plan.problem);
  if (segments_of(plan) > most) {
    throw Error("segments", std::to_string(segments_of(plan)), "at most " + std::to_string(most));
  }
  const bool fits =
      plan.order.empty() && plan.table.size() == static_cast<std::size_t>(plan.problem.ranks) &&
      std::ranges::min(plan.table) == 0 && std::ranges::max(plan.table) <= last_round(plan);
  if (!fits) refuse_table(plan, "a round for each rank, the first one 0, and no order");
}

void build(const Plan& plan, Builder& builder) {
  const Problem& problem = plan.problem;
  const Rank me = builder.me();
  const Partition parts(problem.count, segments_of(plan));
  builder.pace_by_receivers();
  std::vector<TreeFold> folds;
  for (Count segment = 0; segment < segments_of(plan); ++segment) {
    folds.emplace_back(builder, parts.range(segment), me == problem.root);
    folds.back().own();
  }
  for (const SegmentHop& hop : timetable({plan.table, segments_of(plan), problem.root})->hops) {
    TreeFold& fold = folds[static_cast<std::size_t>(hop.segment)];
    if (hop.to == me) fold.receive(hop.from, Received::right, false);
    if (hop.from == me) builder.send_in_turn(hop.to, fold.value());
  }
  if (me != problem.root) return;
  for (TreeFold& fold : folds) fold.finish();
}

/// An upper bound, since messages do not wait for the end of a round.
Cost cost(const Plan& plan) {
  const std::vector<Count> together(plan.table.size(), 0);
  const auto table = timetable({together, segments_of(plan), plan.problem.root});
  return cost_of_rounds(plan, table->rounds, ceil_log2(plan.problem.ranks));
}

/// One segment alone travels as in a tree, which takes less to plan.
bool worth_planning(const Problem& problem, const Network& network) {
  return problem.ranks <= kMaxRanks && best_together(problem, network) > 1;
}

}  // namespace

LATECOMER_ROW(reduce, clairvoyant) {
  return {.arrival_aware = true,
          .commutative_only = true,
          .scratch_messages = 3,
          .parameters = {segments_parameter(kBestSegments)},
          .cost_formula = "about (S-1+ceil(log2 P))(alpha + m/S beta) at zero delay",
          .source = "the aim of Marendic et al. 2016 (Clairvoyant); the timetable is reconstructed",
          .fill_plan = fill_plan,
          .build = build,
          .check = check,
          .cost = cost,
          .worth_planning = worth_planning};
}

}  // namespace latecomer::reduce
