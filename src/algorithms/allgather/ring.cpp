// Ring: in each of P-1 rounds every rank forwards the part that it received last.
//
// Cost: (P-1) alpha + (P-1)/P m beta. The bytes are the least any all-gather needs; use it for long
// vectors and balanced arrivals. Parts may differ in length.
// Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005), section 3.1; "RING" of Proficz 2021.
//
// Background disseminated ring (BDR): the ring, but until the last rank arrives, early ranks send
// their part straight to other ranks, in descending order, one in each step. A part that has
// reached some ranks in this way leaves the ring that much sooner.
//
// Cost: (P-1) alpha + (P-1)/P m beta as the ring at zero delay; with late ranks the last exit is
// the same, (P-1) steps after the last arrival, but other ranks may leave before. With background
// progress the late ranks' threads receive the early parts. Use it where the mean over the ranks
// counts. Source: Proficz 2021, listing 2 (where lines 40 and 41 must name ranks i and rc, and a
// rank that has nothing to send ends its background part with its last receive).
#include <algorithm>
#include <cmath>

#include "algorithms/plans.hpp"
#include "algorithms/row.hpp"
#include "algorithms/transfers.hpp"

namespace latecomer::allgather {
namespace {

using transfers::Transfers;

constexpr double kMostSteps = 1e15;

/// Adds the ring's transfers of rank `me`. `sent`: the number of ranks that have a rank's part
/// already, those before it.
void add_ring(Transfers& all, const std::vector<Range>& parts, const std::vector<Rank>& sent,
              Rank me) {
  const auto ranks = static_cast<Rank>(parts.size());
  const auto hand_on = [&](Rank rank, Rank step) {
    const Rank part = (rank - step + ranks) % ranks;
    if (sent[part] + step >= ranks - 1) return;
    transfers::add(all, {rank, (rank + 1) % ranks, parts[part], step == 0});
  };
  for (Rank step = 0; step + 1 < ranks; ++step) {
    hand_on(me, step);
    hand_on((me + ranks - 1) % ranks, step);
  }
}

Transfers ring_of(const Plan& plan, Rank me) {
  const std::vector<Range> parts = transfers::parts_of(plan.problem);
  Transfers all;
  add_ring(all, parts, std::vector<Rank>(parts.size(), 0), me);
  return all;
}

/// The number of steps before the last arrival in which each rank arrives: psNo in the paper.
std::vector<Count> steps_before_last(const std::vector<Seconds>& arrivals, Rank ranks,
                                     Seconds step) {
  std::vector<Count> steps(static_cast<std::size_t>(ranks), 0);
  if (arrivals.empty() || step <= 0) return steps;
  const Seconds last = std::ranges::max(arrivals);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    // The small addition counts an arrival at the end of a step as a whole step.
    const double before = std::floor((last - arrivals[i]) / step + 1e-9);
    steps[i] = static_cast<Count>(std::min(before, kMostSteps));
  }
  return steps;
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const Count bytes = transfers::longest_part(problem) * problem.element_bytes;
  plan.order = order_by_arrival(problem.ranks, knowledge.arrivals);
  plan.table =
      steps_before_last(knowledge.arrivals, problem.ranks, knowledge.network.transfer(bytes));
}

void check(const Plan& plan) { check_ordered_numbers(plan, 0, static_cast<Count>(kMostSteps)); }

/// The steps in which early ranks send their parts to others.
class PreSteps {
 public:
  PreSteps(const Plan& plan, const std::vector<Range>& parts, Transfers& moves)
      : plan_(plan), parts_(parts), moves_(moves), sent_(parts.size(), 0) {}

  /// The number of ranks to which each rank's part was sent.
  const std::vector<Rank>& run() {
    const Count most = std::ranges::max(plan_.table);
    for (Count left = most; left > 0;) {
      // Nothing happens until another rank arrives.
      left = take(left) ? left - 1 : next_arrival(left);
    }
    return sent_;
  }

 private:
  [[nodiscard]] Rank ranks() const { return plan_.problem.ranks; }

  /// Carries out the step that is `left` steps before the last arrival. The later rank has
  /// precedence.
  bool take(Count left) {
    std::vector<bool> receives(parts_.size());
    bool any = false;
    for (auto rank = plan_.order.rbegin(); rank != plan_.order.rend(); ++rank) {
      if (plan_.table[*rank] < left || sent_[*rank] == ranks() - 1) continue;
      const Rank to = (*rank - 1 - sent_[*rank] + ranks()) % ranks();
      if (receives[to]) continue;
      receives[to] = true;
      any = true;
      ++sent_[*rank];
      transfers::add(moves_, {*rank, to, parts_[*rank], true});
    }
    return any;
  }

  [[nodiscard]] Count next_arrival(Count left) const {
    Count next = 0;
    for (const Count steps : plan_.table) {
      if (steps < left) next = std::max(next, steps);
    }
    return next;
  }

  const Plan& plan_;
  const std::vector<Range>& parts_;
  Transfers& moves_;
  std::vector<Rank> sent_;
};

/// All transfers of the early ranks, and the transfers of rank `me` in the ring.
Transfers transfers_of(const Plan& plan, Rank me) {
  const std::vector<Range> parts = transfers::parts_of(plan.problem);
  Transfers all;
  PreSteps early(plan, parts, all);
  add_ring(all, parts, early.run(), me);
  return all;
}

/// Every rank's part goes to every other rank once.
Cost cost(const Plan& plan) {
  const Count rounds = plan.problem.ranks - 1;
  return {rounds, rounds * transfers::longest_part(plan.problem), 0};
}

}  // namespace

LATECOMER_ROW(allgather, ring) {
  return {.cost_formula = "(P-1) alpha + (P-1)/P m beta",
          .source = "Thakur, Rabenseifner and Gropp 2005",
          .build = transfers::build_of<ring_of>,
          .cost = cost};
}

LATECOMER_ROW(allgather, disseminated_ring) {
  return {.arrival_aware = true,
          .cost_formula = "(P-1) alpha + (P-1)/P m beta",
          .source = "Proficz 2021, listing 2 (BDR)",
          .fill_plan = fill_plan,
          .build = transfers::build_of<transfers_of>,
          .check = check,
          .cost = cost};
}

}  // namespace latecomer::allgather
