// Early owners: each block of the vector has an owner among the ranks that come early, the more
// blocks the earlier it comes. Ranks send each block to its owner once they have arrived; what is
// complete spreads while others still come together. After the last arrival little is left to do
// but to hand its blocks to their owners and the results to all.
//
// A plan is a timetable of rounds in which every rank sends and receives at most one block
// (timetable.cpp). Cost: after one rank that is late by the time of the vector or more about
// (K - 1 + ceil(log2 P))(alpha + m/K beta), the least that K blocks allow; balanced somewhat more
// than the ring; in between close to the volume bound of docs/decisions/0011. Source: own; one late
// rank as in StragglAR (Devraj et al. 2025), which it extends to any number of ranks, of late ranks
// and of blocks.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/allreduce/early_owners/ownership.hpp"
#include "algorithms/allreduce/early_owners/timetable.hpp"
#include "algorithms/allreduce/rows.hpp"
#include "base/partition.hpp"
#include "patterns/powers.hpp"

namespace latecomer::allreduce {
namespace {

constexpr Count kMostHops = 20'000;  // of one kind: what planning may cost
constexpr Rank kMostRanks = 128;     // where planning takes some milliseconds at most
constexpr double kFewestBlocks = 8;  // fewer are best where latency counts, and others are better

/// Lateness against the last rank.
std::vector<Seconds> before_last(const std::vector<Seconds>& arrivals, Rank ranks) {
  std::vector<Seconds> before(static_cast<std::size_t>(ranks), 0);
  if (arrivals.empty()) return before;
  const Seconds last = std::ranges::max(arrivals);
  for (std::size_t i = 0; i < before.size(); ++i) before[i] = last - arrivals[i];
  return before;
}

/// What a rank receives at least after the last arrival, in vectors: a result of each block, and
/// what the others did not yet have the time to send.
double volume_after_last(const std::vector<Seconds>& before, Seconds vector) {
  const auto others = static_cast<double>(before.size()) - 1;
  double received = others;
  for (const Seconds each : before) received += std::max(0.0, 1 - each / vector);
  return std::max(1.0, (received - 1) / (others + 1));
}

Seconds vector_time(const Problem& problem, const Network& network) {
  return network.beta * static_cast<double>(problem.bytes());
}

/// The number of blocks that makes (V K + ceil(log2 P))(alpha + m/K beta) least, `volume` being V.
double ideal_blocks(const Problem& problem, double volume, const Network& network) {
  const Seconds alpha = std::max(network.alpha, 1e-9);
  const double fill = ceil_log2(problem.ranks);
  return std::sqrt(fill * vector_time(problem, network) / (volume * alpha));
}

bool worth_planning(const Problem& problem, const Network& network) {
  return problem.ranks <= kMostRanks && ideal_blocks(problem, 1, network) >= kFewestBlocks;
}

Count best_blocks(const Problem& problem, const std::vector<Seconds>& before,
                  const Network& network) {
  const Seconds vector = vector_time(problem, network);
  if (!(vector > 0) || problem.ranks == 1) return 1;
  const double blocks = ideal_blocks(problem, volume_after_last(before, vector), network);
  const double step = blocks < 32 ? 1 : 8;  // a plan is to be found again
  const Count rounded = std::llround(std::round(blocks / step) * step);
  const Count most = std::min(problem.count, kMostHops / problem.ranks);
  return std::clamp<Count>(rounded, 1, std::max<Count>(1, most));
}

/// The rounds in which ranks arrive. Who is the time of two vectors and of their way through all
/// ranks earlier than the last one has all the time it needs, and finer steps than a 64th of a
/// vector gain nothing: so that a plan is often found again.
std::vector<Count> in_rounds(const std::vector<Seconds>& before, Seconds round, Count blocks) {
  const Count most = 2 * (blocks + ceil_log2(static_cast<Rank>(before.size())));
  const double step = std::max(1.0, static_cast<double>(blocks) / 64);
  std::vector<Count> rounds;
  for (const Seconds each : before) {
    const double earlier = round > 0 ? std::min(each / round, static_cast<double>(most)) : 0;
    rounds.push_back(most - std::llround(std::round(earlier / step) * step));
  }
  const Count first = std::ranges::min(rounds);
  for (Count& each : rounds) each -= first;
  return rounds;
}

Count blocks_of(const Plan& plan) { return plan.parameters.at("blocks"); }

Seconds round_of(const Plan& plan, const Network& network) {
  const Partition blocks(plan.problem.count, blocks_of(plan));
  return network.transfer(blocks.longest() * plan.problem.element_bytes);
}

/// The table: in which round each rank arrives, then each block's owner.
void complete(Plan& plan, const Knowledge& knowledge) {
  const auto before = before_last(knowledge.arrivals, plan.problem.ranks);
  plan.parameters.try_emplace("blocks", best_blocks(plan.problem, before, knowledge.network));
  plan.table = in_rounds(before, round_of(plan, knowledge.network), blocks_of(plan));
  const std::vector<Rank> owners = share_out(plan.table, blocks_of(plan));
  plan.table.insert(plan.table.end(), owners.begin(), owners.end());
}

/// Of the plan, for ranks that arrive in these rounds.
std::shared_ptr<const Timetable> timetable(const Plan& plan, const std::vector<Count>& arrivals) {
  return shared_timetable(arrivals, {plan.table.begin() + plan.problem.ranks, plan.table.end()});
}
std::vector<Count> planned_arrivals(const Plan& plan) {
  return {plan.table.begin(), plan.table.begin() + plan.problem.ranks};
}

/// One rank's operations.
class Walk {
 public:
  Walk(const Plan& plan, Builder& builder)
      : builder_(builder),
        parts_(plan.problem.count, blocks_of(plan)),
        combined_(static_cast<std::size_t>(blocks_of(plan)), false),
        landings_(builder.scratch(parts_.longest() * blocks_of(plan))) {}

  /// All contributions to the first block come together in its result, which reaches all: so do the
  /// words that travel along.
  void take(const Hop& hop) {
    builder_.tell(hop.block == 0);
    if (hop.block == 0) builder_.tell_anew();
    if (hop.from == builder_.me()) builder_.send_in_turn(hop.to, partial(hop.block, hop.final));
    if (hop.to != builder_.me()) return;
    if (hop.final) return builder_.recv(hop.from, builder_.output(parts_.range(hop.block)));
    contribution(hop.from, hop.block);
  }

 private:
  [[nodiscard]] Slice partial(Count block, bool final) const {
    const Range range = parts_.range(block);
    return final || combined_[block] ? builder_.output(range) : builder_.input(range);
  }

  /// Is combined in the output.
  void contribution(Rank from, Count block) {
    const Range range = parts_.range(block);
    const Slice own = builder_.input(range);
    const Slice result = builder_.output(range);
    const bool first = !combined_[block];
    combined_[block] = true;
    if (first && !builder_.writable(own) && !builder_.background()) {
      builder_.recv(from, result);
      return builder_.combine(own, result, Into::right);
    }
    const Slice landing = next_landing(range.count);
    builder_.recv(from, landing);
    if (first) builder_.copy(own, result);
    builder_.combine(landing, result, Into::right);
  }

  /// Used again only after a vector's worth of contributions.
  Slice next_landing(Count count) {
    const Count slot = landed_++ % static_cast<Count>(combined_.size());
    return landings_.part(slot * parts_.longest(), count);
  }

  Builder& builder_;
  Partition parts_;
  std::vector<bool> combined_;  // by block: whether its partial result lies in the output
  Slice landings_;
  Count landed_ = 0;
};

void build(const Plan& plan, Builder& builder) {
  if (plan.problem.ranks == 1) {
    const Range all{0, plan.problem.count};
    return builder.copy(builder.input(all), builder.output(all));
  }
  builder.pace_by_receivers();
  Walk walk(plan, builder);
  for (const Hop& hop : timetable(plan, planned_arrivals(plan))->hops) walk.take(hop);
}

/// Rounds: an upper bound, since messages do not wait for the end of a round.
Cost cost(const Plan& plan) {
  const auto table = timetable(plan, planned_arrivals(plan));
  const Partition blocks(plan.problem.count, blocks_of(plan));
  std::vector<Count> sent(static_cast<std::size_t>(plan.problem.ranks), 0);
  std::vector<Count> combined(sent.size(), 0);
  for (const Hop& hop : table->hops) {
    const Count elements = blocks.range(hop.block).count;
    sent[hop.from] += elements;
    if (!hop.final) combined[hop.to] += elements;
  }
  return {table->rounds, std::ranges::max(sent), std::ranges::max(combined)};
}

Seconds time(const Plan& plan, const Network& network) {
  const auto table = timetable(plan, std::vector<Count>(plan.problem.ranks, 0));
  return static_cast<double>(table->rounds) * round_of(plan, network);
}

/// By the timetable: the arrivals are those that it was made for.
Seconds time_after_last(const Plan& plan, const Network& network,
                        const std::vector<Seconds>& /*arrivals*/) {
  const std::vector<Count> arrivals = planned_arrivals(plan);
  const auto table = timetable(plan, arrivals);
  const double exits = std::accumulate(table->exits.begin(), table->exits.end(), 0.0);
  const double last = static_cast<double>(std::ranges::max(arrivals));
  return (exits / plan.problem.ranks - last) * round_of(plan, network);
}

/// Without elements there are no messages.
bool tells(const Plan& plan) { return plan.problem.count > 0; }

}  // namespace

Algorithm early_owners() {
  return {.name = "early_owners",
          .collective = Collective::allreduce,
          .kind = Kind::program,
          .arrival_aware = true,
          .commutative_only = true,
          .scratch_messages = 2,
          .parameters = {{"blocks", "of the vector; default: by cost", 1, {}}},
          .cost_formula = "(K - 1 + ceil(log2 P))(alpha + m/K beta) after one late rank",
          .source = "own; one late rank as in Devraj et al. 2025",
          .complete = complete,
          .build = build,
          .cost = cost,
          .time = time,
          .time_after_last = time_after_last,
          .tells = tells,
          .worth_planning = worth_planning};
}

}  // namespace latecomer::allreduce
