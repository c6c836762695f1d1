#include "algorithms/owners/planning.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/plans.hpp"
#include "algorithms/transfers.hpp"
#include "base/error.hpp"
#include "base/partition.hpp"
#include "base/threads.hpp"
#include "patterns/powers.hpp"

namespace latecomer::owners {
namespace {

constexpr Count kMostHops = 20'000;  // of one kind, to limit the time of planning
constexpr Count kMostTried = 48;     // blocks; where there are so few, fewer may make shorter trees
constexpr Count kMostBlocks = 4096;  // that a user can ask for
constexpr Rank kMaxRanks = 128;      // where planning takes some milliseconds at most
constexpr Rank kMaxGathering = 1024;  // an all-gather has as many hops as pairs of ranks
constexpr double kFewestBlocks = 8;   // where fewer are best, other algorithms are faster

/// The time from each rank's arrival to the last one, seconds.
std::vector<Seconds> before_last(const std::vector<Seconds>& arrivals, Rank ranks) {
  std::vector<Seconds> before(static_cast<std::size_t>(ranks), 0);
  if (arrivals.empty()) return before;
  const Seconds last = std::ranges::max(arrivals);
  for (std::size_t i = 0; i < before.size(); ++i) before[i] = last - arrivals[i];
  return before;
}

/// The least volume that a rank receives after the last arrival, on average, in vectors: a result
/// of each block, and the contributions that the others had no time to send before.
double volume_after_last(const std::vector<Seconds>& before, Seconds vector) {
  const auto others = static_cast<double>(before.size()) - 1;
  double received = others;
  for (const Seconds each : before) received += std::max(0.0, 1 - each / vector);
  return std::max(1.0, (received - 1) / (others + 1));
}

Seconds vector_time(const Problem& problem, const Network& network) {
  return network.beta * static_cast<double>(problem.bytes());
}

Count best_blocks(const Problem& problem, const std::vector<Seconds>& before,
                  const Network& network) {
  const Seconds vector = vector_time(problem, network);
  if (!(vector > 0) || problem.ranks == 1) return 1;
  const double blocks = ideal_blocks(problem, volume_after_last(before, vector), network);
  const double step = blocks < 32 ? 1 : 8;  // so that calls find the same plan again
  const Count rounded = std::llround(std::round(blocks / step) * step);
  const Count most = std::min(problem.count, kMostHops / problem.ranks);
  return std::clamp<Count>(rounded, 1, std::max<Count>(1, most));
}

/// The rounds in which ranks arrive. They are rounded so that a plan is often found again: a rank
/// that is earlier than the last one by the time of two vectors and of their way through all ranks
/// has all the time it needs, and finer steps than a 64th of a vector gain nothing.
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

/// A timetable's arrivals and blocks.
struct Asked {
  std::vector<Count> arrivals;
  Count blocks = 0;
  Combines combines = Combines::yes;

  bool operator==(const Asked&) const = default;
};

/// The last timetables made on this thread are kept, for the programs of several ranks and for
/// prices.
std::shared_ptr<const Timetable> timetable(const Asked& asked) {
  return PerThread<Asked, Kept<Asked, Timetable>>::get().get(asked, [](const Asked& key) {
    return make_timetable(key.arrivals, key.blocks, key.combines);
  });
}

Count longest_block_bytes(const Plan& plan) {
  return longest_block(plan) * plan.problem.element_bytes;
}

/// The pieces of each rank's part in an all-gather.
Count pieces_of(const Plan& plan) { return blocks_of(plan) / plan.problem.ranks; }

/// The additional time of the rounds in which a block has to reach all ranks.
Seconds fill_of(const Plan& plan, const Network& network) {
  const Count bytes = longest_block_bytes(plan);
  return ceil_log2(plan.problem.ranks) * (network.occupancy(bytes) - network.following(bytes));
}

/// The time from the last arrival to the last exit.
Seconds time_of_rounds(const Plan& plan, const Network& network) {
  const Count rounds = planned_timetable(plan)->rounds - std::ranges::max(plan.table);
  return static_cast<double>(rounds) * round_of(plan, network);
}

void plan_blocks(Plan& plan, Count blocks, const std::vector<Seconds>& before,
                 const Network& network) {
  plan.parameters["blocks"] = blocks;
  plan.table = in_rounds(before, round_of(plan, network), blocks);
}

}  // namespace

Count most_blocks(const Problem& problem) {
  return std::clamp<Count>(problem.count, 1, kMostBlocks);
}

/// Where a link makes up for start-ups, it is a quarter of the blocks for which it can:
/// ranks that share cores cannot make up for theirs.
double ideal_blocks(const Problem& problem, double volume, const Network& network) {
  const Seconds alpha = std::max(network.alpha, 1e-9);
  const bool made_up_for = network.beta * static_cast<double>(network.burst) >= alpha;
  if (made_up_for) return vector_time(problem, network) / (4 * alpha);
  const double fill = ceil_log2(problem.ranks);
  return std::sqrt(fill * vector_time(problem, network) / (volume * alpha));
}

Count blocks_of(const Plan& plan) { return plan.parameters.at("blocks"); }

Combines combines_of(const Plan& plan) {
  return combines(plan.problem.collective) ? Combines::yes : Combines::no;
}

Seconds round_of(const Plan& plan, const Network& network) {
  const Count bytes = longest_block_bytes(plan);
  return network.following(bytes) + network.transfer(bytes) - network.occupancy(bytes);
}

std::vector<Range> ranges_of(const Plan& plan) {
  std::vector<Range> ranges;
  if (combines_of(plan) == Combines::yes) {
    const Partition blocks(plan.problem.count, blocks_of(plan));
    for (Count block = 0; block < blocks_of(plan); ++block) ranges.push_back(blocks.range(block));
    return ranges;
  }
  const std::vector<Range> parts = transfers::parts_of(plan.problem);
  for (Count piece = 0; piece < pieces_of(plan); ++piece) {
    for (const Range& part : parts) {
      const Range range = Partition(part.count, pieces_of(plan)).range(piece);
      ranges.push_back({part.begin + range.begin, range.count});
    }
  }
  return ranges;
}

Count longest_block(const Plan& plan) {
  if (combines_of(plan) == Combines::yes) {
    return Partition(plan.problem.count, blocks_of(plan)).longest();
  }
  return Partition(transfers::longest_part(plan.problem), pieces_of(plan)).longest();
}

std::shared_ptr<const Timetable> planned_timetable(const Plan& plan) {
  return timetable({plan.table, blocks_of(plan), combines_of(plan)});
}

Seconds planned_time(const Plan& plan, const Network& network) {
  const auto table = planned_timetable(plan);
  const double exits = std::accumulate(table->exits.begin(), table->exits.end(), 0.0);
  const auto last = static_cast<double>(std::ranges::max(plan.table));
  return (exits / plan.problem.ranks - last) * round_of(plan, network) + fill_of(plan, network);
}

Count balanced_rounds(const Plan& plan) {
  const std::vector<Count> together(plan.problem.ranks, 0);
  return timetable({together, blocks_of(plan), combines_of(plan)})->rounds;
}

bool worth_blocks(const Problem& problem, const Network& network) {
  return ideal_blocks(problem, 1, network) >= kFewestBlocks;
}

bool worth_planning_owners(const Problem& problem, const Network& network) {
  return problem.ranks <= kMaxRanks && worth_blocks(problem, network);
}

void plan_blocks_of_owners(Plan& plan, const Knowledge& knowledge) {
  const auto before = before_last(knowledge.arrivals, plan.problem.ranks);
  const auto asked = plan.parameters.find("blocks");
  const Count blocks = asked == plan.parameters.end()
                           ? best_blocks(plan.problem, before, knowledge.network)
                           : asked->second;
  plan.parameters["blocks"] = std::min(blocks, most_blocks(plan.problem));
  if (combines_of(plan) == Combines::yes) return;
  const Count ranks = plan.problem.ranks;
  if (ranks > kMaxGathering) {
    throw Error("ranks", std::to_string(ranks),
                "at most " + std::to_string(kMaxGathering) + " for " + plan.algorithm);
  }
  const Count longest = std::max<Count>(1, transfers::longest_part(plan.problem));
  const Count pieces = std::max<Count>(1, (std::min(blocks, kMostBlocks) + ranks / 2) / ranks);
  plan.parameters["blocks"] = ranks * std::min(pieces, longest);
}

void plan_arrivals_of_owners(Plan& plan, const std::vector<Seconds>& arrivals,
                             const Network& network) {
  plan_blocks(plan, blocks_of(plan), before_last(arrivals, plan.problem.ranks), network);
}

void check_blocks_of_owners(const Plan& plan) {
  const Count ranks = plan.problem.ranks;
  if (combines_of(plan) == Combines::no) {
    const Count most = std::max(ranks, kMostBlocks);
    if (blocks_of(plan) <= most && blocks_of(plan) % ranks == 0) return;
    throw Error("blocks", std::to_string(blocks_of(plan)),
                "a multiple of " + std::to_string(ranks) + ", at most " + std::to_string(most));
  }
  const Count most = most_blocks(plan.problem);
  if (blocks_of(plan) <= most) return;
  throw Error("blocks", std::to_string(blocks_of(plan)), "at most " + std::to_string(most));
}

void check_early_owners(const Plan& plan) {
  constexpr Count kLast = 1'000'000'000'000'000;  // round: times of rounds stay exact
  const Rank ranks = plan.problem.ranks;
  check_blocks_of_owners(plan);
  const bool fits = plan.table.size() == static_cast<std::size_t>(ranks) && plan.order.empty();
  const auto usable = [](Count round) { return round >= 0 && round < kLast; };
  if (fits && std::ranges::all_of(plan.table, usable)) return;
  refuse_table(plan, "a round for each rank, and no order");
}

void plan_early_owners(Plan& plan, const Knowledge& knowledge) {
  const auto before = before_last(knowledge.arrivals, plan.problem.ranks);
  const Network& network = knowledge.network;
  if (const auto asked = plan.parameters.find("blocks"); asked != plan.parameters.end()) {
    return plan_blocks(plan, std::min(asked->second, most_blocks(plan.problem)), before, network);
  }
  const Count ideal = best_blocks(plan.problem, before, network);
  plan_blocks(plan, ideal, before, network);
  if (ideal > kMostTried || plan.problem.ranks > kMaxRanks) return;
  for (const double part : {0.8, 0.65, 0.5}) {
    Plan other = plan;
    const auto blocks = static_cast<Count>(part * static_cast<double>(ideal));
    plan_blocks(other, std::max<Count>(1, blocks), before, network);
    if (time_of_rounds(other, network) < time_of_rounds(plan, network)) plan = std::move(other);
  }
}

}  // namespace latecomer::owners
