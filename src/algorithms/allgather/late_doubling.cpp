// Late doubling: the parts of the early ranks go round a ring of the early ranks, and straight to
// the late ranks; each late rank broadcasts its own part along a binomial tree when it arrives.
//
// Cost, k late ranks: after the last arrival only k ceil(log2 P)(alpha + m/P beta), where a ring
// needs P-1 steps, if the early parts are everywhere by then: with background progress they wait in
// the late ranks' memory. It is the ring where no rank is late. Use it for one or a few late ranks.
// Source: latecomer's own; the broadcast's tree puts early ranks inside and other late ones at its
// leaves.
#include <algorithm>
#include <limits>
#include <numeric>

#include "algorithms/plans.hpp"
#include "algorithms/row.hpp"
#include "algorithms/transfers.hpp"
#include "base/error.hpp"
#include "patterns/powers.hpp"

namespace latecomer::allgather {
namespace {

using transfers::Transfers;

constexpr Rank kMostTrees = 65536;  // places in all trees together, unless the user sets the number

/// The time of a step, in which one part moves.
struct Step {
  Seconds time = 0;
  bool waits = false;  // a part leaves only when its receiver has arrived
};

/// The times at which ranks leave, as a function of how many of the last ranks are treated as late.
class Exits {
 public:
  Exits(const std::vector<Seconds>& sorted, const Step& step)
      : sorted_(sorted),
        step_(step),
        ranks_(static_cast<Rank>(sorted.size())),
        rounds_(ceil_log2(ranks_) * step.time),
        last_(sorted.size() + 1, -std::numeric_limits<Seconds>::infinity()),
        sums_(sorted.size() + 1, 0) {
    for (Rank i = ranks_; i-- > 0;) {
      last_[i] = std::max(last_[i + 1], sorted[i] + (ranks_ - i) * rounds_);
      sums_[i] = sums_[i + 1] + sorted[i];
    }
  }

  /// The time at which the parts of all early ranks, and then of each late one in turn, are
  /// everywhere.
  [[nodiscard]] Seconds ready(Rank late) const {
    const Rank early = ranks_ - late;
    const Seconds ring = sorted_[early - 1] + (ranks_ - 1) * step_.time;
    return std::max(ring + late * rounds_, last_[early]);
  }
  /// The mean exit. Late ranks may still have early parts to receive.
  [[nodiscard]] Seconds mean(Rank late) const {
    const Rank early = ranks_ - late;
    const Seconds all = ready(late);
    if (!step_.waits) return all;
    const Seconds taking = early * step_.time;
    const auto longer = std::upper_bound(sorted_.begin() + early, sorted_.end(), all - taking);
    const auto first = static_cast<Rank>(longer - sorted_.begin());
    const Rank others = ranks_ - first;
    return (first * all + sums_[first] + others * taking) / ranks_;
  }

 private:
  const std::vector<Seconds>& sorted_;
  Step step_;
  Rank ranks_;
  Seconds rounds_;             // of one broadcast
  std::vector<Seconds> last_;  // when the last ranks from one on have broadcast, by themselves
  std::vector<Seconds> sums_;  // of the arrivals from one on
};

/// The most ranks that count as late: one program has about as many transfers as late ranks times
/// all.
Rank most_late(Rank ranks) {
  return std::min<Rank>(ranks - 1, std::max<Rank>(1, kMostTrees / ranks));
}

/// The number of last ranks that count as late: the one with which the ranks leave soonest.
Rank late_ranks(const Exits& exits, Rank ranks) {
  Rank best = 0;
  for (Rank late = 1; late <= most_late(ranks); ++late) {
    if (exits.mean(late) < exits.mean(best)) best = late;
  }
  return best;
}

Step step_of(const Plan& plan, const Network& network) {
  const Count bytes = transfers::longest_part(plan.problem) * plan.problem.element_bytes;
  const bool waits = plan.progress == Progress::foreground && bytes > network.eager_limit;
  return {network.transfer(bytes), waits};
}

/// The arrivals in the plan's order.
std::vector<Seconds> sorted_by(const std::vector<Rank>& order,
                               const std::vector<Seconds>& arrivals) {
  std::vector<Seconds> sorted(order.size(), 0);
  if (arrivals.empty()) return sorted;
  std::ranges::transform(order, sorted.begin(), [&](Rank rank) { return arrivals[rank]; });
  return sorted;
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Rank ranks = plan.problem.ranks;
  plan.order = order_by_arrival(ranks, knowledge.arrivals);
  const std::vector<Seconds> sorted = sorted_by(plan.order, knowledge.arrivals);
  const Exits exits(sorted, step_of(plan, knowledge.network));
  Count& asked = plan.parameters.try_emplace("late", late_ranks(exits, ranks)).first->second;
  asked = std::min<Count>(asked, ranks - 1);
}

void check(const Plan& plan) {
  check_ordered(plan);
  const Count late = plan.parameters.at("late");
  if (late >= plan.problem.ranks) throw Error("late", std::to_string(late), "less than all ranks");
}

Rank late_of(const Plan& plan) { return static_cast<Rank>(plan.parameters.at("late")); }

/// Positions of a binomial tree by the size of their subtrees, the root first.
std::vector<Rank> largest_first(Rank ranks) {
  std::vector<Rank> positions(static_cast<std::size_t>(ranks));
  std::iota(positions.begin(), positions.end(), 0);
  const auto size = [&](Rank at) { return at == 0 ? ranks : std::min(at & -at, ranks - at); };
  std::ranges::stable_sort(positions, [&](Rank a, Rank b) { return size(a) > size(b); });
  return positions;
}

/// The tree in which the late rank at place `i` of the order broadcasts: `tree[position]` is a
/// rank.
std::vector<Rank> tree_of(const Plan& plan, const std::vector<Rank>& positions, Rank i) {
  const Rank ranks = plan.problem.ranks;
  const Rank early = ranks - late_of(plan);
  std::vector<Rank> by_size = {plan.order[i]};
  // Each late rank's tree gives the largest subtree to another early rank.
  for (Rank e = 0; e < early; ++e) by_size.push_back(plan.order[(e + i) % early]);
  for (Rank l = early; l < ranks; ++l) {
    if (l != i) by_size.push_back(plan.order[l]);
  }
  std::vector<Rank> tree(static_cast<std::size_t>(ranks));
  for (std::size_t at = 0; at < tree.size(); ++at) tree[positions[at]] = by_size[at];
  return tree;
}

/// Adds the messages of one place of the order in the ring of the early ranks.
void add_ring(Transfers& all, const Plan& plan, const std::vector<Range>& parts, Rank place) {
  const Rank early = plan.problem.ranks - late_of(plan);
  if (place >= early) return;
  const auto hand_on = [&](Rank at, Rank round) {
    const Rank source = plan.order[(at - round + early) % early];
    transfers::add(all, {plan.order[at], plan.order[(at + 1) % early], parts[source], round == 0});
  };
  for (Rank round = 0; round + 1 < early; ++round) {
    hand_on(place, round);
    hand_on((place + early - 1) % early, round);
  }
}

/// Adds one place's messages that carry early parts to late ranks; each late rank gets them in
/// another order.
void add_deliveries(Transfers& all, const Plan& plan, const std::vector<Range>& parts, Rank place) {
  const Rank early = plan.problem.ranks - late_of(plan);
  for (Rank l = early; l < plan.problem.ranks; ++l) {
    for (Rank e = 0; e < early; ++e) {
      const Rank at = (e + l) % early;
      if (place != l && place != at) continue;
      transfers::add(all, {plan.order[at], plan.order[l], parts[plan.order[at]], true, true});
    }
  }
}

Transfers transfers_of(const Plan& plan, Rank me) {
  const Rank ranks = plan.problem.ranks;
  const Rank place = position_of(plan, me);
  const std::vector<Range> parts = transfers::parts_of(plan.problem);
  Transfers all;
  add_ring(all, plan, parts, place);
  add_deliveries(all, plan, parts, place);
  const std::vector<Rank> positions = largest_first(ranks);
  for (Rank i = ranks - late_of(plan); i < ranks; ++i) {
    const std::vector<Rank> tree = tree_of(plan, positions, i);
    const auto rank_at = [&](Rank position) { return tree[position]; };
    // In turn: the largest subtree's message must not share the link with the others. Where there
    // are several trees, none should wait for another's messages.
    transfers::add_binomial(all, ranks, rank_at, parts[plan.order[i]], late_of(plan) == 1);
  }
  return all;
}

/// The cost of the ring and of one broadcast for each late rank.
Cost cost(const Plan& plan) {
  const Rank ranks = plan.problem.ranks;
  const Count rounds = ranks - 1 + Count{late_of(plan)} * ceil_log2(ranks);
  return {rounds, rounds * transfers::longest_part(plan.problem)};
}

}  // namespace

LATECOMER_ROW(allgather, late_doubling) {
  return {.arrival_aware = true,
          .parameters = {{"late",
                          "how many of the last ranks broadcast their parts; default: as many as "
                          "have the ranks leave soonest",
                          0,
                          {}}},
          .cost_formula = "(P-1) alpha + (P-1)/P m beta at zero delay",
          .source = "latecomer",
          .fill_plan = fill_plan,
          .build = transfers::build_of<transfers_of>,
          .check = check,
          .cost = cost};
}

}  // namespace latecomer::allgather
