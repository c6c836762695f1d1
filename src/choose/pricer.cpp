#include "choose/pricer.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "price/candidates.hpp"
#include "price/price.hpp"

namespace latecomer {
namespace {

constexpr double kNoWorse = 1.5;  // a protocol's price in balance over the best program's, at most
constexpr std::size_t kRecentCalls = 8;  // their arrivals stand for the next call's

/// Returns the price for a mean duration from the last arrival on. In a rooted collective ranks may
/// leave before it, so that this mean may be negative and ratios of it mean nothing: there the
/// waiting is added.
Seconds as_price(Seconds after_last, Collective collective, const std::vector<Seconds>& arrivals) {
  return rooted(collective) ? after_last + waiting(arrivals) : after_last;
}

/// Returns true if protocols compete.
bool has_protocols(const CallClass& call_class) {
  return std::ranges::any_of(call_class.arrival_independent, [](const Candidate& each) {
    return each.row->kind == Kind::protocol;
  });
}

/// Returns true if balanced programs are replayed for given arrivals: in rooted collectives, whose
/// ranks may leave early, if they combine or protocols compete, and on nodes, where all prices rest
/// on replays.
bool replays_arrivals(const CallClass& call_class) {
  if (!call_class.arrival_independent.front().plan->placement.empty()) return true;
  const Collective collective = call_class.arrival_independent.front().row->collective;
  return rooted(collective) && (combines(collective) || has_protocols(call_class));
}

/// Returns true if the plan is priced for given arrivals without a replay.
bool has_closed_form(const Plan& plan) {
  return find_algorithm(plan.problem.collective, plan.algorithm).mean_after_last != nullptr;
}

/// Returns true if arrival-independent candidates are priced for the expected arrivals. Where
/// protocols of other than rooted collectives compete, the arrivals of the last calls say more.
bool prices_anew(const CallClass& call_class) {
  const bool rooted_class = rooted(call_class.arrival_independent.front().row->collective);
  return rooted_class || !has_protocols(call_class);
}

/// On nodes the plan among them, which decides how long a plan takes; otherwise the plan itself.
const Plan* innermost(const Plan* plan) {
  return plan->inner.empty() ? plan : &plan->inner.front();
}

/// Returns the cost of pricing the arrival-independent candidates for given arrivals.
Seconds cost_of_prices(const CallClass& call_class, const Network& network) {
  Seconds cost = 0;
  for (const Candidate& each : call_class.arrival_independent) {
    if (!each.rival.empty()) continue;
    if (has_closed_form(*each.plan)) {
      const Plan& priced = *innermost(each.plan.get());
      const Algorithm& row = find_algorithm(priced.problem.collective, priced.algorithm);
      cost += planning_cost(row, priced.problem, network);
    } else if (replays_arrivals(call_class)) {
      cost += replay_cost(*each.plan);
    }
  }
  return cost;
}

/// Returns true if all candidates are priced for the expected arrivals.
bool priced_for(const CallClass& call_class, const Problem& problem,
                const std::vector<Seconds>& expected) {
  return call_class.priced_count == problem.count && call_class.arrivals == expected &&
         call_class.unpriced.empty();
}

/// Returns the mean price of a candidate under the arrivals of the last calls; the one that it has
/// if it has none of these.
Seconds mean_of_recent(const CallClass& call_class, const Candidate& candidate) {
  Seconds sum = 0;
  int count = 0;
  for (const auto& prices : call_class.recent_prices) {
    for (const Candidate& then : prices) {
      if (then.name() != candidate.name()) continue;
      sum += then.predicted;
      ++count;
    }
  }
  return count > 0 ? sum / count : candidate.predicted;
}

/// Adds a candidate, or replaces that of the same name by it if it is cheaper.
void add(Candidate candidate, std::vector<Candidate>& candidates) {
  const auto found = std::ranges::find(candidates, candidate.name(), &Candidate::name);
  if (found == candidates.end()) return candidates.push_back(std::move(candidate));
  if (candidate.predicted < found->predicted) *found = std::move(candidate);
}

/// Arrivals may differ from the expected ones: candidates that do not depend on these keep their
/// prices under the arrivals of the last calls.
void use_recent_prices(const CallClass& call_class, std::vector<Candidate>& candidates) {
  for (Candidate& each : candidates) {
    for (const Candidate& independent : call_class.arrival_independent) {
      if (independent.name() == each.name()) each.predicted = independent.predicted;
    }
  }
}

}  // namespace

bool late(const std::vector<Seconds>& arrivals) {
  if (arrivals.empty()) return false;
  const auto [first, last] = std::ranges::minmax(arrivals);
  return last > first;
}

Seconds waiting(const std::vector<Seconds>& arrivals) {
  if (arrivals.empty()) return 0;
  const Seconds sum = std::accumulate(arrivals.begin(), arrivals.end(), 0.0);
  return std::ranges::max(arrivals) - sum / static_cast<double>(arrivals.size());
}

void Pricer::know(const Network& network, const std::vector<bool>* mostly_late, bool telemetry,
                  bool background, bool nodes) {
  known_.network = network;
  known_.mostly_late.clear();
  if (mostly_late != nullptr) known_.mostly_late = *mostly_late;
  known_.telemetry = telemetry;
  known_.background = background;
  if (nodes == known_.placement.empty()) known_.placement = nodes ? placement_ : Placement{};
}

bool Pricer::place(const Placement& placement) {
  if (placement_ == placement) return false;
  placement_ = known_.placement = placement;
  return true;
}

void Pricer::clear() {
  plans_.clear();
  announced_plans_.clear();
}

std::shared_ptr<const Plan> Pricer::plan(const Choice& choice, const Problem& problem,
                                         const std::vector<Seconds>& expected) {
  known_.arrivals = expected;
  return get(choice, problem).plan;
}

/// The plan of a row, from the cache or made now.
const CachedPlan& Pricer::get(const Choice& choice, const Problem& problem) {
  PlanCache& plans = plans_for_call();
  const std::uint64_t before = plans.plans_made();
  const CachedPlan& found = plans.get(choice, problem, known_);
  if (plans.plans_made() > before) ++done_.plans[choice.algorithm->name];
  return found;
}

/// The price of a plan for given arrivals, by its closed form or a replay.
Seconds Pricer::priced(const Plan& plan, const std::vector<Seconds>& arrivals) {
  ++done_.prices[find_algorithm(plan.problem.collective, plan.algorithm).name];
  return mean_after_last(plan, known_.network, arrivals, known_.placement);
}

std::vector<Candidate> Pricer::candidates(CallClass& call_class, const Problem& problem,
                                          const std::vector<Seconds>& expected, bool with_rivals) {
  std::vector<Candidate> all;
  all.push_back({&native_row(problem.collective), 0, nullptr});
  // What the budget holds goes first to plans for the ranks that are expected late.
  const bool aware_first = late(expected) && !priced_for(call_class, problem, expected);
  collect_arrival_independent(call_class, problem, with_rivals && !aware_first);
  if (call_class.arrival_independent.empty()) return all;
  if (late(expected)) price(call_class, problem, expected);
  const bool priced = late(expected) && !call_class.priced.empty();
  if (priced) follow_tasks(call_class);
  const auto& others = priced ? call_class.priced : call_class.arrival_independent;
  all.insert(all.end(), others.begin(), others.end());
  if (priced && !rooted(problem.collective)) use_recent_prices(call_class, all);
  all.front().predicted = others.front().predicted;
  all.front().shares = others.front().shares;
  return all;
}

/// Priced plans stay while the expected arrivals do; tasks may have gone to other ranks since.
void Pricer::follow_tasks(CallClass& call_class) {
  for (Candidate& priced : call_class.priced) {
    if (!priced.row->coordinated) continue;
    const auto now = std::ranges::find(call_class.arrival_independent, priced.row, &Candidate::row);
    if (now != call_class.arrival_independent.end()) priced.plan = now->plan;
  }
}

/// Returns the plan of a row, if it is cached or the budget pays for making it; otherwise null.
const CachedPlan* Pricer::plan_if_affordable(CallClass& call_class, const Choice& choice,
                                             const Problem& problem) {
  const Algorithm& row = *choice.algorithm;
  if (const CachedPlan* const found = plans_for_call().find(choice, problem, known_)) return found;
  if (!accepts(row, problem, nullptr)) return nullptr;
  // A rival among nodes takes one of the plans that `fastest` compares.
  const Algorithm& paid = choice.parameters.empty() ? row : fastest_row(problem.collective);
  const Seconds cost = planning_cost(paid, problem, known_.network, known_.placement);
  if (!call_class.pay(cost)) return nullptr;
  return &get(choice, problem);
}

/// Collects the candidates that do not depend on expected arrivals. A protocol moves whole vectors,
/// with control messages in between. Where programs are far better in balance, because a vector is
/// short or can be cut, a protocol may still let most ranks leave early, but the ranks that need
/// the result wait longer: there it does not compete. Nor does it in calls that rank 0 announces.
void Pricer::collect_arrival_independent(CallClass& call_class, const Problem& problem,
                                         bool more_rivals) {
  std::vector<Candidate>& all = call_class.arrival_independent;
  all.clear();
  known_.arrivals.clear();
  const CachedPlan* const fastest =
      plan_if_affordable(call_class, {&fastest_row(problem.collective), {}}, problem);
  if (fastest == nullptr) return;
  const Seconds balanced = fastest->balanced;
  all.push_back({fastest->asked.algorithm, balanced, fastest->plan, fastest->shares});
  if (more_rivals && !call_class.knows_rivals) look_for_rivals(call_class, *all.front().plan);
  const std::string_view least = innermost(all.front().plan.get())->algorithm;
  for (const Rival& each : call_class.rivals) {
    if (each.name == least) continue;
    const CachedPlan* const rival = more_rivals
                                        ? plan_if_affordable(call_class, each.choice, problem)
                                        : plans_for_call().find(each.choice, problem, known_);
    if (rival == nullptr) continue;
    all.push_back({each.choice.algorithm, rival->balanced, rival->plan, rival->shares, each.name});
  }
  for (const Algorithm& row : registry(problem.collective)) {
    if (row.kind != Kind::protocol || (known_.background && !row.runs_ahead)) continue;
    if (!may_pay(row, problem, known_.network, known_.placement)) continue;
    const CachedPlan* const protocol = plan_if_affordable(call_class, {&row, {}}, problem);
    if (protocol == nullptr || protocol->balanced > kNoWorse * balanced) continue;
    all.push_back({&row, protocol->balanced, protocol->plan, protocol->shares});
  }
  for (Candidate& each : all) each.predicted = mean_of_recent(call_class, each);
}

/// Looks for the rivals of the class, which takes about as long as planning `fastest` did.
void Pricer::look_for_rivals(CallClass& call_class, const Plan& fastest) {
  const Problem& problem = fastest.problem;
  const Algorithm& row = fastest_row(problem.collective);
  if (!call_class.pay(planning_cost(row, problem, known_.network, known_.placement))) return;
  call_class.knows_rivals = true;
  call_class.rivals = rivals(fastest, known_);
  ++done_.plans[row.name];
}

/// Returns the price of an arrival-independent candidate for these arrivals; as if no rank were
/// late where that would need a replay which is not worth its time, and of a rival.
Seconds Pricer::price_of(const CallClass& call_class, const Candidate& candidate,
                         const std::vector<Seconds>& arrivals) {
  const Plan& plan = *candidate.plan;
  const bool exact =
      candidate.rival.empty() && (replays_arrivals(call_class) || has_closed_form(plan));
  const Seconds after_last =
      exact ? priced(plan, arrivals) : balanced_time(plan, known_.network, known_.placement);
  return as_price(after_last, candidate.row->collective, arrivals);
}

/// Prices the candidates for the expected arrivals: first the arrival-independent ones, then
/// arrival-aware rows, the cheapest to plan first, as far as the budget pays for them. Later calls
/// with the same arrivals go on.
void Pricer::price(CallClass& call_class, const Problem& problem,
                   const std::vector<Seconds>& expected) {
  const bool begun = call_class.priced_count == problem.count && call_class.arrivals == expected;
  if (!begun) begin_pricing(call_class, problem, expected);
  known_.arrivals = expected;
  while (!call_class.unpriced.empty()) {
    const Algorithm& row = *call_class.unpriced.back().algorithm;
    if (!call_class.pay(planning_cost(row, problem, known_.network, known_.placement))) return;
    const Choice choice = std::move(call_class.unpriced.back());
    call_class.unpriced.pop_back();
    const CachedPlan& cached = get(choice, problem);
    if (cached.plan->algorithm != row.name) continue;  // another's, tried under its own name
    const Seconds after_last = priced(*cached.plan, expected);
    add({&row, as_price(after_last, problem.collective, expected), cached.plan, cached.shares},
        call_class.priced);
  }
}

/// Prices the arrival-independent candidates, and lists the rows that are left. Does nothing if the
/// budget is too small.
void Pricer::begin_pricing(CallClass& call_class, const Problem& problem,
                           const std::vector<Seconds>& expected) {
  call_class.priced.clear();
  call_class.unpriced.clear();
  call_class.priced_count = -1;
  const bool anew = prices_anew(call_class);
  if (anew && !call_class.pay(cost_of_prices(call_class, known_.network))) return;
  call_class.priced_count = problem.count;
  call_class.arrivals = expected;
  for (const Candidate& each : call_class.arrival_independent) {
    const Seconds price = anew ? price_of(call_class, each, expected) : each.predicted;
    call_class.priced.push_back({each.row, price, each.plan, each.shares, each.rival});
  }
  for (const Algorithm& row : registry(problem.collective)) {
    const bool candidate = row.arrival_aware && !row.stands_for_others;
    if (!candidate || !may_pay(row, problem, known_.network, known_.placement)) continue;
    for (const Parameters& way : ways(row, problem, known_.network, known_.placement, true)) {
      call_class.unpriced.push_back({&row, way});
    }
  }
  std::ranges::stable_sort(call_class.unpriced, std::greater<>{}, [&](const Choice& choice) {
    return planning_cost(*choice.algorithm, problem, known_.network, known_.placement);
  });
}

std::shared_ptr<const Plan> Pricer::affordable(CallClass& call_class, const Choice& choice,
                                               const Problem& problem) {
  known_.arrivals.clear();
  const CachedPlan* const found = plan_if_affordable(call_class, choice, problem);
  return found != nullptr ? found->plan : nullptr;
}

Seconds Pricer::in_hindsight(CallClass& call_class, std::string_view name, Seconds predicted,
                             const std::vector<Seconds>& arrivals) {
  if (call_class.arrival_independent.empty()) return predicted;
  // As much is left to plans for the next call.
  const Seconds cost = cost_of_prices(call_class, known_.network);
  const Collective collective = call_class.arrival_independent.front().row->collective;
  const double left = rooted(collective) ? 1 : 2;
  if (call_class.budget < left * cost || !call_class.pay(cost)) return predicted;
  std::vector<Candidate> prices;
  for (const Candidate& each : call_class.arrival_independent) {
    prices.push_back({each.row, price_of(call_class, each, arrivals), nullptr, {}, each.rival});
    const bool stands_for = prices.size() == 1 && name == native_row(collective).name;
    if (each.name() == name || stands_for) predicted = prices.back().predicted;
  }
  call_class.recent_prices.push_back(std::move(prices));
  if (call_class.recent_prices.size() > kRecentCalls) {
    call_class.recent_prices.erase(call_class.recent_prices.begin());
  }
  return predicted;
}

}  // namespace latecomer
