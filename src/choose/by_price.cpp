// Decisions by price: automatic choice in classes of calls that are active
// (docs/decisions/0016-selection.md).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/reproducible.hpp"
#include "choose/chooser.hpp"
#include "patterns/powers.hpp"
#include "price/candidates.hpp"

namespace latecomer {
namespace {

// Part of the time of moving data that exchanges of arrivals may take, if that is less than
// Chooser::kExchanging of all: it follows the last arrival, as nothing else does that they delay.
constexpr double kExchangingOfMoving = 0.05;
constexpr std::uint64_t kExchangeDoublings = 7;  // of the calls between exchanges, at most
constexpr Seconds kLook = 3e-6;                  // expecting and deciding, without planning
// The same by a rank that comes late, when its node's other ranks have used the caches for long.
// All wait for it, so there looking may take only a part of the time of moving data, too.
constexpr Seconds kLateLook = 70e-6;
constexpr double kLookingOfMoving = 0.02;
constexpr double kMoved = 0.25;  // plans are made anew for a cost that is off by more (logarithm)
constexpr Seconds kLeastPrice = 1e-9;
constexpr Seconds kMostPrice = 1e9;

// From the end of a pair of watched calls to the next pair, where whole calls are compared:
// watching one of 5 us takes some 30 us more.
constexpr std::uint64_t kBetweenWatched = 1000;

/// The calls of which one is looked at while the same is chosen, such that looking costs at most
/// kLooking of their time.
std::uint64_t calls_between_looks(const CallClass& call_class) {
  const double look = kLook / (Chooser::kLooking * std::max(call_class.elapsed, 1e-9));
  return 1 + static_cast<std::uint64_t>(look);
}

/// The same where a rank is expected late, while the library is chosen.
std::uint64_t calls_between_late_looks(const CallClass& call_class) {
  const double look = kLateLook / (kLookingOfMoving * std::max(call_class.moving, 1e-6));
  return std::max(calls_between_looks(call_class), 1 + static_cast<std::uint64_t>(look));
}

/// The logarithm of a price, whatever the network's costs are.
double log_price(Seconds price) { return log_of(std::clamp(price, kLeastPrice, kMostPrice)); }

}  // namespace

/// Plans and prices are made anew once a cost of the network is believed to be off by so much that
/// other plans may be better.
void Chooser::follow_network(CallClass& call_class, const Problem& problem) {
  const Network& assumed = network_of(call_class);
  NetworkParts off = call_class.belief.corrections();
  off[3] = std::max(off[3], -log_of(assumed.exchange));  // it stays at 1
  if (std::ranges::none_of(off, [](double each) { return std::abs(each) > kMoved; })) return;
  const Algorithm& fastest = fastest_row(problem.collective);
  if (call_class.budget < planning_cost(fastest, problem, assumed, placement())) return;
  call_class.network = scaled(assumed, off);
  call_class.belief.rebase(off);
  for (Selection* const each : {&before_, &last_}) {
    if (each->key != call_class.key) continue;
    const NetworkParts& shares = each->arm.shares;
    each->predicted *= exp_of(std::inner_product(off.begin(), off.end(), shares.begin(), 0.0));
  }
  call_class.drop_prices();
}

/// A candidate with what is believed of it.
Belief::Arm Chooser::arm_of(CallClass& call_class, const Candidate& candidate) {
  const bool adaptive = candidate.row->kind == Kind::protocol || candidate.row->arrival_aware;
  const double deviation = is_native(*candidate.row) ? Belief::kLibrary
                           : adaptive                ? Belief::kAdaptive
                                                     : Belief::kProgram;
  return {call_class.belief.index_of(candidate.name(), deviation), log_price(candidate.predicted),
          candidate.shares};
}

/// Those of the call at hand.
std::vector<Belief::Arm> Chooser::arms(CallClass& call_class) const {
  std::vector<Belief::Arm> all;
  for (const Candidate& each : candidates_) all.push_back(arm_of(call_class, each));
  return all;
}

/// As soon as there is a price, what the library's calls have taken is known by it.
void Chooser::learn_of_library(CallClass& call_class, const Belief::Arm& library) const {
  const Seconds taken =
      rooted(candidates_.front().row->collective) ? call_class.elapsed : call_class.moving;
  const bool known = call_class.belief.knows(candidates_.front().name());
  if (known || candidates_.size() < 2 || !(taken > 0)) return;
  call_class.belief.learn(library, taken * exp_of(-library.log_price));
}

Decision Chooser::decide(const Problem& problem, CallClass* call_class) {
  if (call_class != nullptr) {
    if (auto again = repeat(*call_class, problem)) return *std::move(again);
  }
  (void)expect(problem);
  return choose(problem, false);
}

Decision Chooser::decide_announced(const Problem& problem, std::vector<Seconds> arrivals) {
  expected_ = policy_.reproducible ? std::vector<Seconds>() : std::move(arrivals);
  return choose(problem, true);
}

Decision Chooser::choose(const Problem& problem, bool announced) {
  const UserRule* const rule = rule_for(problem, expected_);
  ruled_ = rule != nullptr ? &rule->choice : nullptr;
  const Choice& choice = ruled_ != nullptr ? *ruled_ : policy_.choice(problem.collective);
  const bool automatic = is_automatic(choice) && !policy_.reproducible;
  if (automatic) {
    ruled_ = nullptr;
  } else if (chooses(problem)) {
    return decide_by_rule(choice, problem, announced);
  } else {
    return decide_as(choice, problem, announced);
  }
  CallClass& call_class = announced ? announced_class_of(problem) : class_of(problem);
  ++call_class.calls;
  call_class.used = ++events_;
  call_class.pay_in();
  follow_network(call_class, problem);
  know(problem.collective, announced, true, &call_class);
  const bool given = !policy_.online && late(expected_);  // the program knows who will be late
  if (call_class.blocks && !given) return choose_in_block(call_class, problem);
  const bool whole = !announced && compares_whole_calls(call_class, problem.collective);
  if (whole) {
    expected_.clear();
    if (!call_class.recent_counts.note(problem.count))
      return leave_new_count(call_class, problem.collective);
  }
  candidates_ = pricer_.candidates(call_class, problem, expected_, !whole);
  const Pick pick = whole ? pick_balanced(call_class) : pick_by_belief(call_class);
  const Candidate& chosen = candidates_.at(pick.place);
  note({call_class.key, chosen.row, std::string(chosen.name()), chosen.predicted, pick.arm,
        chosen.plan != nullptr && !call_class.belief.knows(chosen.name())});
  return watch_or_repeat(call_class, problem, pick, {.announced = announced, .whole = whole});
}

Chooser::Pick Chooser::pick_balanced(CallClass& call_class) const {
  const std::size_t place = candidates_.size() > 1 ? 1 : 0;
  return {place, arms(call_class).at(place)};
}

Chooser::Pick Chooser::pick_by_belief(CallClass& call_class) const {
  const std::vector<Belief::Arm> all = arms(call_class);
  learn_of_library(call_class, all.front());
  call_class.belief.forget(static_cast<double>(call_class.calls - call_class.believed));
  call_class.believed = call_class.calls;
  const Belief::Choice choice = call_class.belief.choose(all, call_class.later_calls());
  return {choice.chosen, all.at(choice.chosen), choice.chosen != choice.best};
}

/// Decides whether the call is watched, and whether the next ones repeat it.
Decision Chooser::watch_or_repeat(CallClass& call_class, const Problem& problem, const Pick& pick,
                                  How how) {
  const Candidate& chosen = candidates_.at(pick.place);
  Decision decision{.plan = chosen.plan, .row = chosen.row, .predicted = chosen.predicted};
  if (chosen.plan) decision.action = Decision::Action::plan;
  const bool stamped = chosen.plan != nullptr && piggybacks(*chosen.plan);
  const std::uint64_t every = calls_between_watched(call_class, pick, problem, how.whole);
  // Stamps of one call bring the exits of the one before: a plan's calls are watched in pairs.
  // An exchange after a short call of the library's would tell nothing that is used.
  const bool watches = !how.whole || stamped;
  decision.exchange_arrivals =
      watches && (call_class.exits_due || call_class.unobserved + 1 >= every);
  call_class.exits_due = stamped && decision.exchange_arrivals && !call_class.exits_due;
  if (stamped && !decision.exchange_arrivals)
    decision.plan = without_stamps(call_class, chosen.plan);
  call_class.unobserved = decision.exchange_arrivals || !watches ? 0 : call_class.unobserved + 1;
  last_.unusual = pick.trial || candidates_.size() < 2 || (how.whole && decision.exchange_arrivals);
  call_class.next_event = 0;
  call_class.repeated = {};
  if (pick.trial) return decision;
  if (is_native(*chosen.row)) {
    rest(call_class, every, decision.exchange_arrivals);
    return decision;
  }
  call_class.balanced_in_a_row = 0;
  if (!how.announced && !late(expected_) && !call_class.exits_due)
    repeat_decision(call_class, chosen, every);
  return decision;
}

/// A short call of a length that has not come lately: a plan and a program for it would take longer
/// than they gain if it never comes again. The library's durations in such calls count in reviews,
/// so that the class is left alone if no length comes again.
Decision Chooser::leave_new_count(CallClass& call_class, Collective collective) {
  note({});
  candidates_.clear();
  call_class.repeated = {};
  call_class.next_event = 0;
  ++call_class.unobserved;
  return {.row = &native_row(collective)};
}

/// Returns true if reviews alone decide between the library's collective and the best balanced
/// program: watched calls would take longer than others by more than these two differ. Such calls
/// are too short to plan for late ranks. Among the ranks of one node nothing else competes.
bool Chooser::compares_whole_calls(const CallClass& call_class, Collective collective) const {
  const Seconds most = one_node_ ? CallClass::kShort : CallClass::kBrief;
  const bool reviewed = call_class.reviewed_elapsed > 0;
  return reviewed && call_class.reviewed_elapsed < most && !rooted(collective);
}

/// Repeats the last decision about the class, which is active, if the call needs no new one: nobody
/// was expected late, and looking at each call would cost more than kLooking of its time.
std::optional<Decision> Chooser::repeat(CallClass& call_class, const Problem& problem) {
  const Repeated& last = call_class.repeated;
  if (last.plan == nullptr || call_class.calls + 1 >= last.until) return std::nullopt;
  if (last.plan->problem != problem) return std::nullopt;
  ++call_class.calls;
  ++call_class.unobserved;
  call_class.used = ++events_;
  ruled_ = nullptr;
  expected_.clear();
  skip();
  return Decision{.action = Decision::Action::plan,
                  .plan = last.plan,
                  .row = last.row,
                  .predicted = last.predicted,
                  .repeated = true};
}

/// After a plan was chosen: short calls repeat it until the next event.
void Chooser::repeat_decision(CallClass& call_class, const Candidate& chosen, std::uint64_t every) {
  const std::uint64_t pause =
      std::max(every - call_class.unobserved, 2 * calls_between_looks(call_class) - 1);
  const std::uint64_t until = call_class.calls + pause;
  if (until <= call_class.calls + 1) return;
  const bool stamped = piggybacks(*chosen.plan);
  call_class.repeated = {chosen.row, chosen.predicted,
                         stamped ? without_stamps(call_class, chosen.plan) : chosen.plan, until};
}

/// The plan without stamps, which is kept: so the ranks find again what they prepared for it.
std::shared_ptr<const Plan> Chooser::without_stamps(CallClass& call_class,
                                                    const std::shared_ptr<const Plan>& plan) {
  if (call_class.stamped != plan) {
    Plan bare = *plan;
    bare.telemetry = false;
    for (Plan& inner : bare.inner) inner.telemetry = false;
    call_class.stamped = plan;
    call_class.bare = std::make_shared<const Plan>(std::move(bare));
  }
  return call_class.bare;
}

/// After the library was chosen: sets the next event, until which calls take the shortcut. If a
/// rank is expected late and calls are long, each of them is looked at.
void Chooser::rest(CallClass& call_class, std::uint64_t every, bool observed) {
  std::uint64_t pause = every - call_class.unobserved;
  if (late(expected_)) {
    call_class.balanced_in_a_row = 0;
    pause = std::min(pause, calls_between_late_looks(call_class));
  } else if (observed) {
    ++call_class.balanced_in_a_row;
  }
  call_class.next_event = std::max(call_class.calls + pause, call_class.calls + 1);
  call_class.unobserved += call_class.next_event - call_class.calls - 1;
}

/// The number of calls from a watched call, or the end of a pair of them, to the next.
std::uint64_t Chooser::calls_between_watched(const CallClass& call_class, const Pick& pick,
                                             const Problem& problem, bool whole) const {
  const Candidate& chosen = candidates_.at(pick.place);
  const bool stamped = chosen.plan != nullptr && piggybacks(*chosen.plan);
  if (whole) return stamped ? kBetweenWatched : calls_between_looks(call_class);
  if (pick.trial) return 1;
  if (chosen.plan != nullptr && call_class.belief.deviation(pick.arm) > Belief::kChance) return 1;
  const bool priced = chosen.predicted > 0;
  const Seconds price = priced ? exp_of(call_class.belief.log_cost(pick.arm)) : 0;
  return stamped ? calls_between_stamps(call_class, price, *chosen.plan)
                 : calls_between_exchanges(call_class, price, problem);
}

/// The number of calls between two exchanges of arrivals, such that they cost at most kExchanging
/// of the time of these calls, and kExchangingOfMoving of that after the last arrivals.
std::uint64_t Chooser::calls_between_exchanges(const CallClass& call_class, Seconds price,
                                               const Problem& problem) const {
  if (rooted(problem.collective))
    return kRootedEvery << std::min(call_class.balanced_in_a_row, kExchangeDoublings);
  const Seconds call = std::max(call_class.elapsed, price);
  if (!(call > 0)) return kRootedEvery;
  const Seconds exchange = ceil_log2(problem.ranks) * pricer_.network().transfer(0);
  const Seconds of_moving = price > 0 ? kExchangingOfMoving * price : call;
  const Seconds may_take = std::min(kExchanging * call, of_moving);
  return 1 + static_cast<std::uint64_t>(std::min(1e6, exchange / may_take));
}

/// The number of calls from the end of a pair that carries arrival stamps to the next pair, such
/// that stamps cost at most kExchanging of the time of all calls: on each hop of the first block up
/// to one stamp of each rank.
std::uint64_t Chooser::calls_between_stamps(const CallClass& call_class, Seconds price,
                                            const Plan& plan) const {
  const Seconds call = std::max(call_class.elapsed, price);
  if (!(call > 0)) return 1;
  const Rank places = plan.placement.empty() ? ranks_ : Nodes(plan.placement, ranks_).count();
  const Seconds stamps = static_cast<Seconds>(Piggyback::kMaxBytesPerRank) * ranks_ *
                         pricer_.network().beta * ceil_log2(places);
  return 1 + static_cast<std::uint64_t>(std::min(1e6, 2 * stamps / (kExchanging * call)));
}

}  // namespace latecomer
