// Late doubling: the parts of the ranks that come early go round a ring of these, and straight to
// the late ranks; each late rank broadcasts its own part along a binomial tree when it arrives.
//
// Cost, k late ranks: after the last arrival only k ceil(log2 P)(alpha + m/P beta), where a ring
// needs P-1 steps, if the early parts are everywhere by then: with background progress they wait in
// the late ranks' memory. With nobody late it is the ring. Use it for one or a few late ranks.
// Source: latecomer's own; the broadcast's tree puts early ranks inside and other late ones at its
// leaves.
#include <algorithm>
#include <numeric>

#include "algorithms/allgather/rows.hpp"
#include "algorithms/moving/replay.hpp"
#include "algorithms/moving/store.hpp"
#include "patterns/powers.hpp"

namespace latecomer::allgather {
namespace {

using moving::Moves;

/// What it takes, in steps of one part.
struct Step {
  Seconds time = 0;
  bool waits = false;  // a part leaves only when its receiver has arrived
};

/// The mean exit if the last `late` of the arrivals, which are sorted, are treated as late ones.
Seconds mean_exit(const std::vector<Seconds>& sorted, Rank late, const Step& step) {
  const auto ranks = static_cast<Rank>(sorted.size());
  const Rank early = ranks - late;
  const Rank rounds = ceil_log2(ranks);
  Seconds ready = sorted[early - 1] + (ranks - 1) * step.time;
  for (Rank i = early; i < ranks; ++i) ready = std::max(ready, sorted[i]) + rounds * step.time;
  Seconds sum = early * ready;
  for (Rank i = early; i < ranks; ++i) {
    const Seconds taken = step.waits ? sorted[i] + early * step.time : 0;
    sum += std::max(ready, taken);
  }
  return sum / ranks;
}

/// How many of the last ranks count as late: whatever has the ranks leave soonest.
Rank late_ranks(const std::vector<Seconds>& sorted, const Step& step) {
  Rank best = 0;
  Seconds least = mean_exit(sorted, 0, step);
  for (Rank late = 1; late < static_cast<Rank>(sorted.size()); ++late) {
    const Seconds mean = mean_exit(sorted, late, step);
    if (mean >= least) continue;
    best = late;
    least = mean;
  }
  return best;
}

void complete(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const Count bytes = moving::longest_part(problem) * problem.element_bytes;
  const Network& network = knowledge.network;
  plan.order = order_by_arrival(problem.ranks, knowledge.arrivals);
  std::vector<Seconds> sorted(static_cast<std::size_t>(problem.ranks), 0);
  if (!knowledge.arrivals.empty()) {
    std::ranges::transform(plan.order, sorted.begin(),
                           [&](Rank rank) { return knowledge.arrivals[rank]; });
  }
  const bool waits = plan.progress == Progress::foreground && bytes > network.eager_limit;
  const Count late = late_ranks(sorted, {network.transfer(bytes), waits});
  Count& asked = plan.parameters.try_emplace("late", late).first->second;
  asked = std::min<Count>(asked, problem.ranks - 1);
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
  // Another early rank has the most to do for each late one.
  for (Rank e = 0; e < early; ++e) by_size.push_back(plan.order[(e + i) % early]);
  for (Rank l = early; l < ranks; ++l) {
    if (l != i) by_size.push_back(plan.order[l]);
  }
  std::vector<Rank> tree(static_cast<std::size_t>(ranks));
  for (std::size_t at = 0; at < tree.size(); ++at) tree[positions[at]] = by_size[at];
  return tree;
}

constexpr Rank kAll = -1;

/// The ring of the early ranks; of one place of the order, or of all.
void add_ring(Moves& all, const Plan& plan, const std::vector<Range>& parts, Rank place) {
  const Rank early = plan.problem.ranks - late_of(plan);
  if (place >= early) return;
  const auto hand_on = [&](Rank at, Rank round) {
    const Rank source = plan.order[(at - round + early) % early];
    moving::add(all, {plan.order[at], plan.order[(at + 1) % early], parts[source], round == 0});
  };
  for (Rank round = 0; round + 1 < early; ++round) {
    if (place != kAll) {
      hand_on(place, round);
      hand_on((place + early - 1) % early, round);
      continue;
    }
    for (Rank at = 0; at < early; ++at) hand_on(at, round);
  }
}

/// Early parts to late ranks, to each in another order.
void add_deliveries(Moves& all, const Plan& plan, const std::vector<Range>& parts, Rank place) {
  const Rank early = plan.problem.ranks - late_of(plan);
  for (Rank l = early; l < plan.problem.ranks; ++l) {
    const bool every = place == kAll || place == l;
    for (Rank e = 0; e < early; ++e) {
      const Rank at = (e + l) % early;
      if (!every && at != place) continue;
      moving::add(all, {plan.order[at], plan.order[l], parts[plan.order[at]], true, true});
    }
  }
}

/// Those of the rank at one place of the order, and others', or those of all.
Moves moves_at(const Plan& plan, Rank place) {
  const Rank ranks = plan.problem.ranks;
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  Moves all;
  add_ring(all, plan, parts, place);
  add_deliveries(all, plan, parts, place);
  const std::vector<Rank> positions = largest_first(ranks);
  for (Rank i = ranks - late_of(plan); i < ranks; ++i) {
    const std::vector<Rank> tree = tree_of(plan, positions, i);
    const auto rank_at = [&](Rank position) { return tree[position]; };
    // In turn: the largest subtree's message must not share the link with the others. Of several
    // trees none should wait for another's.
    moving::add_binomial(all, ranks, rank_at, parts[plan.order[i]], late_of(plan) == 1);
  }
  return all;
}

Moves moves(const Plan& plan) { return moves_at(plan, kAll); }

void build(const Plan& plan, Builder& builder) {
  const auto place = std::ranges::find(plan.order, builder.me()) - plan.order.begin();
  moving::Store store(plan, builder);
  store.keep_own();
  moving::build(moves_at(plan, static_cast<Rank>(place)), store, builder.me());
}

Cost cost(const Plan& plan) {
  const Rank ranks = plan.problem.ranks;
  const Rank late = late_of(plan);
  std::vector<Count> sent(static_cast<std::size_t>(ranks));
  if (late > 0) {
    for (const moving::Move& move : moves(plan)) sent[move.from] += move.range.count;
  } else {
    sent[0] = (ranks - 1) * moving::longest_part(plan.problem);
  }
  return {ranks - 1 + Count{late} * ceil_log2(ranks), std::ranges::max(sent), 0};
}

}  // namespace

Algorithm late_doubling() {
  return {.name = "late_doubling",
          .collective = Collective::allgather,
          .kind = Kind::program,
          .arrival_aware = true,
          .commutative_only = false,
          .scratch_messages = 1,
          .parameters = {{"late",
                          "how many of the last ranks broadcast their parts; default: as many as "
                          "have the ranks leave soonest",
                          0,
                          {}}},
          .cost_formula = "(P-1) alpha + (P-1)/P m beta at zero delay",
          .source = "latecomer",
          .complete = complete,
          .build = build,
          .cost = cost,
          .time = moving::time_of<moves>,
          .time_after_last = moving::time_after_last_of<moves>};
}

}  // namespace latecomer::allgather
