// Decisions by price: automatic choice in classes of calls that are active
// (docs/decisions/0016-selection.md).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/logarithm.hpp"
#include "choose/chooser.hpp"
#include "patterns/powers.hpp"

namespace latecomer {
namespace {

constexpr Seconds kLook = 3e-6;  // expecting and deciding, without planning
// The same by a rank that comes late, when its node's other ranks have used the caches for long: it
// took 70 us. All wait for it, so it may take 2 % of the time of moving data: half of it 1 %.
constexpr Seconds kLateLook = 35e-6;
// From a pair of watched calls to the next, where whole calls are compared: watching one of 5 us
// takes some 30 us more.
constexpr std::uint64_t kBetweenWatched = 1000;
// Part of the time of moving data that exchanges of arrivals may take, if that is less than
// Chooser::kOverhead of all: it follows the last arrival, as nothing else does that they delay.
constexpr double kExchangingOfMoving = 0.05;
constexpr std::uint64_t kExchangeDoublings = 7;  // of the calls between exchanges, at most
constexpr double kMoved = 0.25;  // plans are made anew for a cost that is off by more (logarithm)
constexpr double kFewCalls = 8;  // follow at least; else as many as there were

/// The calls of which one is watched, so that this takes at most so many seconds of each.
std::uint64_t one_in(Seconds watching, Seconds of_each) {
  return 1 + static_cast<std::uint64_t>(std::min(1e6, watching / std::max(of_each, 1e-12)));
}

std::uint64_t calls_between_looks(const CallClass& call_class) {
  return one_in(kLook, Chooser::kOverhead * call_class.elapsed);
}

/// From one exchange of arrivals to the next. `price`: of the call; 0: unknown.
std::uint64_t calls_between_exchanges(const CallClass& call_class, Seconds price,
                                      const Problem& problem, const Network& network) {
  const Seconds call = std::max(call_class.elapsed, price);
  if (rooted(problem.collective) || !(call > 0))
    return Chooser::kRootedEvery << std::min(call_class.balanced_in_a_row, kExchangeDoublings);
  const Seconds of_moving = price > 0 ? kExchangingOfMoving * price : call;
  return one_in(ceil_log2(problem.ranks) * network.transfer(0),
                std::min(Chooser::kOverhead * call, of_moving));
}

/// From the end of a pair of calls with arrival stamps to the next pair: on each hop of the first
/// block up to one stamp of each rank.
std::uint64_t calls_between_stamps(const CallClass& call_class, Seconds price, const Plan& plan,
                                   const Network& network) {
  const Rank ranks = plan.problem.ranks;
  const Rank places = plan.placement.empty() ? ranks : Nodes(plan.placement, ranks).count();
  const Seconds stamps =
      static_cast<Seconds>(Piggyback::kMaxBytesPerRank) * ranks * network.beta * ceil_log2(places);
  const Seconds call = std::max(call_class.elapsed, price);
  return call > 0 ? one_in(2 * stamps, Chooser::kOverhead * call) : 1;
}

/// The candidates, with what is believed of them.
std::vector<Belief::Arm> arms_of(const std::vector<Candidate>& candidates, Belief& belief) {
  std::vector<Belief::Arm> all;
  for (const Candidate& each : candidates) {
    const bool adaptive = each.row->kind == Kind::protocol || each.row->arrival_aware;
    const double deviation = is_native(*each.row) ? Belief::kLibrary
                             : adaptive           ? Belief::kAdaptive
                                                  : Belief::kProgram;
    all.push_back({belief.index_of(each.name, deviation),
                   log_of(std::clamp(each.predicted, 1e-9, 1e9)), each.shares});
  }
  return all;
}

/// After the library was chosen: sets the next event, until which calls take the shortcut. If a
/// rank is expected late and calls are long, each of them is looked at.
void rest(CallClass& call_class, std::uint64_t every, bool observed, bool late) {
  std::uint64_t pause = every - call_class.unobserved;
  if (late) {
    call_class.balanced_in_a_row = 0;
    const auto late_looks = one_in(kLateLook, Chooser::kOverhead * call_class.moving);
    pause = std::min(pause, std::max(calls_between_looks(call_class), late_looks));
  } else if (observed) {
    ++call_class.balanced_in_a_row;
  }
  call_class.next_event = std::max(call_class.calls + pause, call_class.calls + 1);
  call_class.unobserved += call_class.next_event - call_class.calls - 1;
}

/// The plan without stamps, which is kept: so the ranks find again what they prepared for it.
std::shared_ptr<const Plan> without_stamps(CallClass& call_class,
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

}  // namespace

/// Plans and prices are made anew once a cost of the network is believed to be off by so much that
/// other plans may be better.
void Chooser::follow_network(CallClass& call_class, const Problem& problem) {
  const Network& assumed = call_class.network ? *call_class.network : agreed_network();
  NetworkParts off = call_class.belief.corrections();
  off[3] = std::max(off[3], -log_of(assumed.exchange));  // it stays at 1
  if (std::ranges::none_of(off, [](double each) { return std::abs(each) > kMoved; })) return;
  const Choice fastest{&fastest_row(problem.collective), {}};
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

Decision Chooser::decide(const Problem& problem, CallClass* call_class) {
  if (call_class != nullptr) {
    if (auto again = repeat(*call_class, problem)) return *std::move(again);
  }
  (void)expect(problem);
  return choose(problem, false);
}

Decision Chooser::decide_announced(const Problem& problem, std::vector<Seconds> arrivals) {
  expected_ = std::move(arrivals);
  return choose(problem, true);
}

Decision Chooser::choose(const Problem& problem, bool announced) {
  const UserRule* const rule = rule_for(problem, expected_);
  ruled_ = rule != nullptr ? &rule->choice : nullptr;
  const Choice& choice = ruled_ != nullptr ? *ruled_ : policy_.choice(problem.collective);
  if (policy_.reproducible || !is_automatic(choice)) {
    return chooses(problem) ? decide_by_rule(choice, problem, announced)
                            : decide_as(choice, problem, announced);
  }
  ruled_ = nullptr;
  CallClass& call_class = next_call(problem, announced);
  call_class.pay_in();
  follow_network(call_class, problem);
  know(problem.collective, announced, true, &call_class);
  const bool whole = !announced && compares_whole_calls(call_class, problem.collective);
  if (whole) {
    expected_.clear();
    // A plan for a short call of a length that has not come lately would take longer than it gains
    // if that never comes again. The library's durations in such calls count in reviews, so that
    // the class is left alone if no length comes again.
    if (!call_class.recent_counts.note(problem.count)) {
      note({});
      call_class.repeated = {};
      ++call_class.unobserved;
      return {.row = &native_row(problem.collective)};
    }
  }
  const std::vector<Candidate> candidates =
      pricer_.candidates(call_class, problem, expected_, !whole);
  Belief& belief = call_class.belief;
  const std::vector<Belief::Arm> arms = arms_of(candidates, belief);
  const std::size_t balanced = candidates.size() > 1 ? 1 : 0;
  Belief::Choice pick{balanced, balanced};
  if (!whole) {
    // As soon as there is a price, what the library's calls have taken is known by it.
    const Seconds taken = rooted(problem.collective) ? call_class.elapsed : call_class.moving;
    if (!belief.knows(arms.front()) && candidates.size() > 1 && taken > 0)
      belief.learn(arms.front(), taken * exp_of(-arms.front().log_price));
    belief.forget(static_cast<double>(call_class.calls - call_class.believed));
    call_class.believed = call_class.calls;
    pick = belief.choose(arms, kFewCalls + static_cast<double>(call_class.calls));
  }
  const Candidate& chosen = candidates.at(pick.chosen);
  const Belief::Arm& arm = arms.at(pick.chosen);
  const bool first = chosen.plan != nullptr && !belief.knows(arm);
  note({call_class.key, chosen.row, chosen.name, chosen.predicted, arm, first});
  last_.unusual = pick.chosen != pick.best || candidates.size() < 2;
  return watch_or_repeat(call_class, problem, chosen, {announced, whole, pick.chosen != pick.best});
}

/// Returns true if reviews alone decide between the library's collective and the best balanced
/// program: watched calls would take longer than others by more than these two differ. Such calls
/// are too short to plan for late ranks. Among the ranks of one node nothing else competes.
bool Chooser::compares_whole_calls(const CallClass& call_class, Collective collective) const {
  const Seconds most = one_node_ ? CallClass::kShort : CallClass::kBrief;
  const bool reviewed = call_class.reviewed_elapsed > 0;
  return reviewed && call_class.reviewed_elapsed < most && !rooted(collective);
}

/// Decides whether the call is watched, and whether the next ones repeat it. Stamps of one call
/// bring the exits of the one before: a plan's calls are watched in pairs. An exchange after a
/// short call of the library's would tell nothing that is used.
Decision Chooser::watch_or_repeat(CallClass& call_class, const Problem& problem,
                                  const Candidate& chosen, How how) {
  Decision decision{.plan = chosen.plan, .row = chosen.row, .predicted = chosen.predicted};
  if (chosen.plan) decision.action = Decision::Action::plan;
  const bool stamped = chosen.plan != nullptr && piggybacks(*chosen.plan);
  const bool unsure =
      chosen.plan != nullptr && call_class.belief.deviation(last_.arm) > Belief::kChance;
  const Seconds price = chosen.predicted > 0 ? exp_of(call_class.belief.log_cost(last_.arm)) : 0;
  const Network& network = pricer_.network();
  const std::uint64_t looks = calls_between_looks(call_class);
  const std::uint64_t every = how.whole             ? (stamped ? kBetweenWatched : looks)
                              : how.trial || unsure ? 1
                              : stamped
                                  ? calls_between_stamps(call_class, price, *chosen.plan, network)
                                  : calls_between_exchanges(call_class, price, problem, network);
  const bool watches = !how.whole || stamped;
  decision.exchange_arrivals =
      watches && (call_class.exits_due || call_class.unobserved + 1 >= every);
  call_class.exits_due = stamped && decision.exchange_arrivals && !call_class.exits_due;
  if (stamped && !decision.exchange_arrivals)
    decision.plan = without_stamps(call_class, chosen.plan);
  call_class.unobserved = decision.exchange_arrivals || !watches ? 0 : call_class.unobserved + 1;
  last_.unusual = last_.unusual || (how.whole && decision.exchange_arrivals);
  call_class.next_event = 0;
  call_class.repeated = {};
  if (how.trial) return decision;
  if (is_native(*chosen.row)) {
    rest(call_class, every, decision.exchange_arrivals, late(expected_));
    return decision;
  }
  call_class.balanced_in_a_row = 0;
  if (how.announced || late(expected_) || call_class.exits_due) return decision;
  const std::uint64_t pause = std::max(every - call_class.unobserved, 2 * looks - 1);
  if (pause > 1) {
    Decision again = decision;
    again.plan = stamped ? without_stamps(call_class, chosen.plan) : chosen.plan;
    again.exchange_arrivals = false;
    again.repeated = true;
    call_class.repeated = std::make_shared<const Decision>(std::move(again));
    call_class.repeat_until = call_class.calls + pause;
  }
  return decision;
}

/// Repeats the last decision about the class, which is active, if the call needs no new one: nobody
/// was expected late, and looking at each call would cost more than kOverhead of its time.
std::optional<Decision> Chooser::repeat(CallClass& call_class, const Problem& problem) {
  if (!call_class.repeated || call_class.calls + 1 >= call_class.repeat_until) return std::nullopt;
  if (call_class.repeated->plan->problem != problem) return std::nullopt;
  ++call_class.calls;
  ++call_class.unobserved;
  call_class.used = ++events_;
  ruled_ = nullptr;
  expected_.clear();
  skip();
  return *call_class.repeated;
}

}  // namespace latecomer
