// Pre-reduced circulant: one rank is expected last. The others reduce the blocks of the vector
// before it comes, along the trees of a broadcast from it, backwards. The sum of a block stays with
// the rank that the last rank will send this block to first. When the last rank comes its blocks
// are combined there, and the results go on by the broadcast (patterns/circulant.hpp). Ranks from
// which the last rank would receive in a broadcast of another rank are free in that round: they
// send it results.
//
// The last block takes several ways from the last rank: it receives the sums of that block while it
// sends the others, and sends the result.
//
// Cost: with n blocks, n - 1 + ceil(log2 P) rounds after the last rank if it is late by as many,
// the least that equal blocks allow; twice as many if all arrive together. A plan has two numbers,
// and a rank finds its part in O(log^2 P + n). Use it for many ranks of which one is late.
// Source: own; the broadcast of Traeff 2023.
#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/allreduce/block_sums.hpp"
#include "algorithms/owners/planning.hpp"
#include "algorithms/plans.hpp"
#include "algorithms/row.hpp"
#include "patterns/circulant.hpp"
#include "patterns/powers.hpp"
#include "patterns/trees.hpp"

namespace latecomer::allreduce {
namespace {

Rank last_rank(const Plan& plan) { return static_cast<Rank>(plan.table.front()); }

/// Rounds from the last rank's arrival on, if the sums are there.
Count rounds_out(const Plan& plan) {
  return owners::blocks_of(plan) - 1 + ceil_log2(plan.problem.ranks);
}

/// Rounds in which the others reduce the blocks: the last hop is left out. Two others exchange
/// halves.
Count rounds_in(const Plan& plan) {
  if (plan.problem.ranks == 2) return 0;
  return plan.problem.ranks == 3 ? owners::blocks_of(plan) / 2 : rounds_out(plan) - 1;
}

/// One rank's part.
class PrereducedCirculant {
 public:
  PrereducedCirculant(const Plan& plan, Builder& builder)
      : builder_(builder),
        ranks_(plan.problem.ranks, last_rank(plan)),
        is_last_(builder.me() == last_rank(plan)),
        tree_(plan.problem.ranks, owners::blocks_of(plan), ranks_.position(builder.me())),
        sums_(plan.problem.count, tree_.blocks(), tree_.blocks(), builder) {}

  void build() {
    for (Count round = tree_.rounds(); round-- > 0 && !is_last_;) reduce(round);
    for (Count round = 0; round < tree_.levels(); ++round) sum_of_last_block(round);
    for (Count round = 0; round < tree_.rounds(); ++round) {
      is_last_ ? send_own(round) : broadcast(round);
    }
  }

 private:
  [[nodiscard]] bool is_last_block(Count block) const { return block == tree_.blocks() - 1; }
  [[nodiscard]] Rank to(Count round) const { return ranks_.rank(tree_.to(round)); }
  [[nodiscard]] Rank from(Count round) const { return ranks_.rank(tree_.from(round)); }
  [[nodiscard]] bool after_last(Count round) const { return tree_.from(round) == 0; }
  [[nodiscard]] bool before_last(Count round) const { return tree_.to(round) == 0; }

  /// A round of the broadcast, backwards.
  void reduce(Count round) {
    const Count handed = tree_.receives(round);
    if (handed != CirculantPlace::kNone && !after_last(round)) send_sum(from(round), handed);
    const Count taken = tree_.sends(round);
    if (taken != CirculantPlace::kNone) receive_contribution(to(round), taken);
  }

  /// The last rank receives the sums of the last block from those that it will send this block to.
  void sum_of_last_block(Count round) {
    const Count block = tree_.blocks() - 1;
    if (is_last_) {
      receive_contribution(to(round), block);
    } else if (after_last(round)) {
      send_sum(from(round), block);
    }
  }

  void send_own(Count round) {
    const Count block = tree_.sends(round);
    is_last_block(block) ? send_result(to(round), block) : send_sum(to(round), block);
    const Count back = tree_.returns(round);
    if (back != CirculantPlace::kNone) receive_result(from(round), back);
  }

  void broadcast(Count round) {
    const Count handed = before_last(round) ? tree_.returns(round) : tree_.sends(round);
    if (handed != CirculantPlace::kNone) send_result(to(round), handed);
    const Count taken = tree_.receives(round);
    if (taken == CirculantPlace::kNone) return;
    const bool raw = after_last(round) && !is_last_block(taken);
    raw ? receive_contribution(from(round), taken) : receive_result(from(round), taken);
  }

  // The words that travel along with the first block reach all ranks, since its result combines all
  // contributions and goes to all.
  void piggyback(Count block) {
    builder_.piggyback(block == 0);
    if (block == 0) builder_.piggyback_again();
  }
  void send_sum(Rank to, Count block) {
    piggyback(block);
    builder_.send_in_turn(to, sums_.sum(block));
  }
  void send_result(Rank to, Count block) {
    piggyback(block);
    builder_.send_in_turn(to, sums_.result(block));
  }
  void receive_contribution(Rank from, Count block) {
    piggyback(block);
    sums_.receive_contribution(from, block);
  }
  void receive_result(Rank from, Count block) {
    piggyback(block);
    sums_.receive_result(from, block);
  }

  Builder& builder_;
  Rotated ranks_;
  bool is_last_;
  CirculantPlace tree_;
  BlockSums sums_;
};

/// One block more than a multiple of the levels: the phases of the broadcast are complete then, and
/// the last rank gets results back in each round in which it does not receive sums.
Count whole_phases(double blocks, Count levels) {
  return 1 + std::max<Count>(1, std::llround((blocks - 1) / static_cast<double>(levels))) * levels;
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const auto& arrivals = knowledge.arrivals;
  plan.table = {std::max_element(arrivals.begin(), arrivals.end()) - arrivals.begin()};
  const Count most = owners::most_blocks(problem);
  const double ideal =
      std::min(owners::ideal_blocks(problem, 1, knowledge.network), static_cast<double>(most));
  const Count levels = std::max<Count>(1, ceil_log2(problem.ranks));
  const Count blocks =
      plan.parameters.try_emplace("blocks", whole_phases(ideal, levels)).first->second;
  plan.parameters["blocks"] = std::min(blocks, most);
}

void check(const Plan& plan) {
  owners::check_blocks_of_owners(plan);
  const bool fits = plan.table.size() == 1 && plan.order.empty();
  if (fits && plan.table.front() >= 0 && plan.table.front() < plan.problem.ranks) return;
  refuse_table(plan, "one rank, and no order");
}

void build(const Plan& plan, Builder& builder) {
  builder.pace_by_receivers();
  PrereducedCirculant(plan, builder).build();
}

/// An upper bound, since messages do not wait for the end of a round.
Cost cost(const Plan& plan) {
  const Count rounds = rounds_in(plan) + rounds_out(plan);
  const Count longest = owners::longest_block(plan);
  return {rounds, rounds * longest, longest, 0, true};
}

/// The last of the others is followed by the rounds of a reduction, and then, or when the last rank
/// comes, by those of a broadcast.
Seconds mean_after_last(const Plan& plan, const Network& network,
                        const std::vector<Seconds>& arrivals) {
  const Seconds round = owners::round_of(plan, network);
  const auto last = arrivals.begin() + last_rank(plan);
  Seconds others = -std::numeric_limits<Seconds>::infinity();
  for (auto each = arrivals.begin(); each != arrivals.end(); ++each) {
    if (each != last) others = std::max(others, *each);
  }
  const Seconds reduced = others + static_cast<Seconds>(rounds_in(plan)) * round;
  const Seconds out = static_cast<Seconds>(rounds_out(plan)) * round;
  return std::max(*last, reduced) + out - std::max(*last, others);
}

}  // namespace

LATECOMER_ROW(allreduce, prereduced_circulant) {
  return {.arrival_aware = true,
          .commutative_only = true,
          .scratch_messages = 2,
          .parameters = {{"blocks", "of the vector, at most 4096; default: by cost", 1, {}}},
          .cost_formula = "(n - 1 + ceil(log2 P))(alpha + m/n beta) after one late rank",
          .source = "own; the broadcast of Traeff 2023",
          .fill_plan = fill_plan,
          .build = build,
          .check = check,
          .cost = cost,
          .mean_after_last = mean_after_last,
          .informs_all = informs_unless_empty,
          .worth_planning = owners::worth_blocks};
}

}  // namespace latecomer::allreduce
