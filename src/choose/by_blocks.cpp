// Decisions about rooted collectives: automatic choice in blocks of calls. Ranks may leave such a
// call before others enter it, so that they run ahead of each other. What a call costs shows over
// several calls only, and a rank that waits for news of the others loses its lead. So one candidate
// executes a block of calls, after which each rank tells the others when it was in them. That is
// known after the next block, and says what the block would have cost with the other candidates.
#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/reproducible.hpp"
#include "choose/chooser.hpp"
#include "price/price.hpp"

namespace latecomer {
namespace {

constexpr std::uint64_t kBlock = 8;        // calls in a trial
constexpr std::uint64_t kFew = 4;          // calls in the first blocks, and priced in any case
constexpr std::uint64_t kMostCalls = 512;  // in a block
// The library executes a block again after so many calls, four times as many each time: nothing
// else would show that it has become faster.
constexpr std::uint64_t kRenewal = 256;
constexpr std::uint64_t kMostRenewals = 10;
constexpr std::size_t kPastBlocks = 4;  // that the next one is expected to be like

// Of what a replay may take at most, which it mostly does not. What it takes is paid afterwards.
constexpr double kOfEstimate = 0.1;

Seconds mean_inside(const CallSeries& series) {
  Seconds sum = 0;
  for (std::size_t call = 0; call < series.calls(); ++call) {
    sum += std::accumulate(series.exits[call].begin(), series.exits[call].end(), 0.0) -
           std::accumulate(series.arrivals[call].begin(), series.arrivals[call].end(), 0.0);
  }
  return sum / static_cast<double>(series.calls() * series.arrivals.front().size());
}

}  // namespace

std::vector<Candidate> Pricer::candidates_of_block(CallClass& call_class, const Problem& problem) {
  std::vector<Candidate> all;
  all.push_back({&native_row(problem.collective), 0, nullptr});
  collect_arrival_independent(call_class, problem, true);
  const std::vector<CallSeries>& past = call_class.blocks->past;
  if (past.empty()) return all;
  std::vector<Replays> replays_of_all;
  Seconds each_call = 0;
  for (const Candidate& each : call_class.arrival_independent) {
    auto own = replays(call_class, *each.plan);
    if (!own && all.size() == 1) return all;  // `fastest`, which stands for the library
    if (!own) continue;
    call_class.budget -= own->first;
    each_call += own->each;
    replays_of_all.push_back(*std::move(own));
    all.push_back(each);
  }
  if (all.size() == 1) return all;
  // All are priced for the same calls: as many as the budget pays for, but some in any case.
  const auto most = static_cast<std::size_t>(std::clamp(call_class.budget / each_call, double{kFew},
                                                        double{kPastBlocks * LastCalls::kMost}));
  for (std::size_t i = 1; i < all.size(); ++i)
    all[i].predicted = price(call_class, *all[i].plan, replays_of_all[i - 1], past, most);
  all.front().predicted = all[1].predicted;
  all.front().shares = all[1].shares;
  return all;
}

std::optional<Candidate> Pricer::priced_for_last(CallClass& call_class, const Problem& problem,
                                                 std::string_view name) {
  if (call_class.arrival_independent.empty())
    collect_arrival_independent(call_class, problem, true);
  const Algorithm& library = native_row(problem.collective);
  for (const Candidate& each : call_class.arrival_independent) {
    if (name != library.name && name != each.name()) continue;
    const auto own = replays(call_class, *each.plan);
    if (!own) return std::nullopt;
    call_class.budget -= own->first;
    Candidate priced = each;
    priced.predicted = price(call_class, *each.plan, *own,
                             std::span(call_class.blocks->past).last(1), LastCalls::kMost);
    if (name != library.name) return priced;
    return Candidate{&library, priced.predicted, nullptr, each.shares};
  }
  return std::nullopt;
}

/// Replays of the plan, if they are not too long and the budget seems to pay for some.
std::optional<Replays> Pricer::replays(const CallClass& call_class, const Plan& plan) const {
  if (!replayable(plan, known_.network)) return std::nullopt;
  if (call_class.budget < kOfEstimate * replay_cost(plan)) return std::nullopt;
  return replays_of(plan, known_.network, known_.placement);
}

/// What the last `most` of these calls would have cost, and pays for the replays.
Seconds Pricer::price(CallClass& call_class, const Plan& plan, const Replays& replays,
                      std::span<const CallSeries> past, std::size_t most) {
  const double synchrony = call_class.blocks->synchrony.estimate();
  const CallSeries other =
      replayed(past, most, synchrony, [&](const std::vector<Seconds>& arrivals) {
        std::vector<Seconds> exits = replays.exits(arrivals);
        const Seconds first = std::ranges::min(arrivals);
        for (Seconds& exit : exits) exit += first;
        return exits;
      });
  call_class.budget -= static_cast<double>(other.calls()) * replays.each;
  done_.prices[find_algorithm(plan.problem.collective, plan.algorithm).name] += other.calls();
  Seconds negligible = 0;
  for (const CallSeries& each : past) negligible += negligible_cost(each);
  return mean_cost(other, synchrony) + negligible / static_cast<double>(past.size());
}

Decision Chooser::choose_in_block(CallClass& call_class, const Problem& problem) {
  CallBlock& block = call_class.blocks->now;
  if (call_class.calls > block.last) begin_block(call_class, problem);
  Decision decision{.row = &native_row(problem.collective), .predicted = block.predicted};
  decision.ends_block = call_class.calls >= block.last;
  const bool own = block.choice.algorithm != nullptr && !is_native(*block.choice.algorithm);
  if (own) decision.plan = pricer_.affordable(call_class, block.choice, problem);
  if (decision.plan) {
    decision.action = Decision::Action::plan;
    decision.row = block.choice.algorithm;
  }
  block.pure = block.pure && own == (decision.plan != nullptr);
  note({call_class.key});
  call_class.repeated = {};
  call_class.next_event = 0;
  if (decision.plan) {
    call_class.repeated = {decision.row, decision.predicted, decision.plan, block.last};
  } else if (!own) {
    call_class.next_event = block.last;
  }
  block.problem = problem;
  return decision;
}

/// Picks the candidate for the next calls.
void Chooser::begin_block(CallClass& call_class, const Problem& problem) {
  CallBlocks& blocks = *call_class.blocks;
  CallBlock& block = blocks.now;
  candidates_ = pricer_.candidates_of_block(call_class, problem);
  const std::vector<Belief::Arm> all = arms(call_class);
  call_class.belief.forget(static_cast<double>(call_class.calls - call_class.believed));
  call_class.believed = call_class.calls;
  const std::uint64_t trial = std::max(kBlock, call_class.calls / 4);
  auto [best, chosen] =
      call_class.belief.choose(all, call_class.later_calls() / static_cast<double>(trial));
  bool tries = chosen != best;
  if (call_class.calls - blocks.library > kRenewal << std::min(2 * blocks.renewed, kMostRenewals)) {
    ++blocks.renewed;
    call_class.belief.doubt(all.front(), Belief::kLibrary);
    tries = chosen != 0;
    chosen = 0;
  }
  const Candidate& candidate = candidates_[chosen];
  block.calls = std::min(tries ? trial : std::max(kBlock, call_class.calls), kMostCalls);
  if (blocks.past.empty()) block.calls = kFew;
  block.name = candidate.name();
  block.predicted = candidate.predicted;
  block.choice = {candidate.row, {}};
  for (const Rival& each : call_class.rivals) {
    if (!candidate.rival.empty() && each.name == candidate.rival) block.choice = each.choice;
  }
  block.last = call_class.calls + block.calls - 1;
  block.pure = true;
  blocks.last_calls.clear();
  if (is_native(*candidate.row)) blocks.library = block.last;
}

CallClass& Chooser::block_class(CallClass& call_class, bool announced) {
  const auto found = classes_.find(call_class.key ^ kAnnounced);
  return announced && found != classes_.end() ? found->second : call_class;
}

void Chooser::learn_block(CallClass& call_class, const CallSeries& series) {
  CallBlocks& blocks = *call_class.blocks;
  if (!blocks.told || series.calls() < 2) return;
  const CallBlock block = *blocks.told;
  blocks.told.reset();
  for (std::size_t call = 1; call < series.calls(); ++call)
    blocks.synchrony.learn(series.exits[call - 1], series.arrivals[call]);
  call_class.elapsed = call_class.moving = mean_inside(series);
  call_class.pay_in();
  auto& past = blocks.past;
  if (past.size() == kPastBlocks) past.erase(past.begin());
  past.push_back(series);
  if (!block.pure || block.name.empty()) return;
  know(block.problem.collective, call_class.announced, true, &call_class);
  const auto priced = pricer_.priced_for_last(call_class, block.problem, block.name);
  if (!priced) return;
  const Seconds cost = mean_cost(series, blocks.synchrony.estimate()) + negligible_cost(series);
  if (!call_class.announced) learnt_ = call_class.key;
  const Belief::Arm arm = arm_of(call_class, *priced);
  call_class.belief.learn(arm, std::max(cost, 0.0) * exp_of(-arm.log_price));
}

}  // namespace latecomer
