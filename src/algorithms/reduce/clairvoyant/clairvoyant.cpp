// Clairvoyant: a segmented reduction whose messages follow from the known arrivals. In each round
// of a timetable (`Backwards`) every rank sends and receives at most one segment; the ranks that
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
#include "algorithms/reduce/clairvoyant/clairvoyant.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "algorithms/plans.hpp"
#include "algorithms/reduce/tree_fold.hpp"
#include "algorithms/segments.hpp"
#include "base/error.hpp"
#include "base/threads.hpp"
#include "patterns/bit_rows.hpp"
#include "patterns/powers.hpp"

namespace latecomer::reduce {
namespace {

/// Makes the timetable, backwards in time. Seen so, a reduction is a broadcast: the root has all
/// segments, every rank must get each of them once, from a rank that has it, and a rank that
/// arrives late goes early. A greedy broadcast comes close to one round a segment and log2 P more.
class Backwards {
 public:
  Backwards(const std::vector<Count>& arrivals, Count segments, Rank root)
      : arrivals_(arrivals),
        ranks_(static_cast<Rank>(arrivals.size())),
        window_(segment_window(ranks_, segments)),
        end_(std::ranges::max(arrivals) + segments),
        next_(next_arrivals(arrivals, root)),
        missing_(arrivals.size(), segments),
        released_(arrivals.size(), false),
        rarest_(static_cast<std::size_t>(segments)),
        held_(rarest_.size(), 1),
        holders_(segments, ranks_),
        ports_(1, ranks_) {
    missing_[root] = 0;
    std::iota(rarest_.begin(), rarest_.end(), 0);
    for (Count segment = 0; segment < segments; ++segment) insert(holders_[segment], root);
  }

  SegmentTimetable run() {
    const std::size_t all = rarest_.size() * (arrivals_.size() - 1);
    while (hops_.size() < all) fill();
    std::ranges::reverse(hops_);
    return {std::move(hops_), end_};
  }

 private:
  /// By rank, the round in which it hands on: with its arrival if it comes after the root;
  /// otherwise when the rank arrives that comes next, so that the last one of those that are there
  /// keeps the sum of the others for it.
  static std::vector<Count> next_arrivals(const std::vector<Count>& arrivals, Rank root) {
    std::vector<Rank> order(arrivals.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](Rank rank) { return arrivals[rank]; });
    std::vector<Count> next = arrivals;
    for (std::size_t i = 0; order[i] != root; ++i) next[order[i]] = arrivals[order[i + 1]];
    return next;
  }

  [[nodiscard]] bool present(Rank rank) const { return arrivals_[rank] + round_ < end_; }
  /// The round, backwards, before which the rank should have all segments.
  [[nodiscard]] Count due(Rank rank) const { return end_ - next_[rank]; }

  /// Fills a round, or lets the reduction end later if that is necessary for another message.
  void fill() {
    interruption_point();
    const std::size_t before = hops_.size();
    std::vector<Rank> receivers;
    ports_.clear();
    for (Rank rank = 0; rank < ranks_; ++rank) {
      if (missing_[rank] > 0) end_ = std::max(end_, arrivals_[rank] + round_ + missing_[rank]);
    }
    for (Rank rank = 0; rank < ranks_; ++rank) {
      released_[rank] = released_[rank] || round_ >= due(rank) - window_;
      if (present(rank)) insert(ports_[0], rank);
      if (missing_[rank] > 0 && released_[rank]) receivers.push_back(rank);
    }
    match(receivers);
    if (hops_.size() == before && !receivers.empty()) {
      ++end_;
    } else {
      ++round_;
    }
  }

  /// Those with the least time left choose first.
  void match(std::vector<Rank>& receivers) {
    std::ranges::stable_sort(receivers, {}, [&](Rank rank) {
      return std::pair(due(rank) - missing_[rank], -missing_[rank]);
    });
    std::ranges::stable_sort(rarest_, {}, [&](Count segment) { return held_[segment]; });
    const std::size_t before = hops_.size();
    for (const Rank rank : receivers) receive(rank);
    for (std::size_t i = before; i < hops_.size(); ++i) {
      insert(holders_[hops_[i].segment], hops_[i].from);
    }
  }

  /// The rank gets the segment that fewest ranks have, of those that it lacks, from the one of its
  /// holders that has fewest others.
  void receive(Rank rank) {
    const auto lacks = [&](Count segment) { return !contains(holders_[segment], rank); };
    for (const Count segment : rarest_) {
      if (!lacks(segment)) continue;
      const Rank holder = free_holder(segment);
      if (holder < 0) continue;
      erase(ports_[0], holder);
      hops_.push_back({rank, holder, segment});
      ++held_[segment];
      --missing_[rank];
      return;
    }
  }

  [[nodiscard]] Rank free_holder(Count segment) const {
    Rank best = -1;
    const ConstBits holders = holders_[segment];
    const ConstBits free = ports_[0];
    any_member(
        holders_.words(), [&](std::size_t i) { return holders[i] & free[i]; },
        [&](Count rank) {
          if (best < 0 || missing_[rank] > missing_[best]) best = static_cast<Rank>(rank);
          return false;
        });
    return best;
  }

  const std::vector<Count>& arrivals_;
  Rank ranks_;
  Count window_;
  Count end_;        // the rounds of the whole reduction, as far as is known
  Count round_ = 0;  // backwards, from the end
  std::vector<Count> next_;
  std::vector<Count> missing_;  // by rank: segments
  std::vector<bool> released_;  // ranks may get segments; otherwise they would leave too late
  std::vector<Count> rarest_;   // segments, those that fewest ranks have first
  std::vector<Count> held_;     // by segment: ranks that have it
  BitRows holders_;             // they themselves, at the beginning of the round
  BitRows ports_;               // one row: ranks that can still send a segment in the round
  std::vector<SegmentHop> hops_;
};

}  // namespace

Count segment_window(Rank ranks, Count segments) {
  return segments + segments / 8 + Count{2} * ceil_log2(ranks);
}

SegmentTimetable make_segment_timetable(const std::vector<Count>& arrivals, Count segments,
                                        Rank root) {
  return Backwards(arrivals, segments, root).run();
}

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
