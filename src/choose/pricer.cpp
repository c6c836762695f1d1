#include "choose/pricer.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "price/on_nodes.hpp"

namespace latecomer {
namespace {

constexpr double kNoWorse = 1.5;  // a protocol's price in balance over the best program's, at most
constexpr double kLastCalls = 8;  // their arrivals stand for the next call's

/// On nodes the plan among them, which decides how long a plan takes; otherwise the plan itself.
const Plan& innermost(const Plan& plan) { return plan.inner.empty() ? plan : plan.inner.front(); }

/// Returns the cost of the plan's price for given arrivals, by a closed form or a replay. Nothing
/// if that is the price of balance: elsewhere than in rooted collectives, whose ranks may leave
/// early, and on nodes, where all prices rest on replays, programs without a closed form keep it.
Seconds cost_of_price(const Plan& plan, const Network& network) {
  const Problem& problem = innermost(plan).problem;
  const Algorithm& row = find_algorithm(problem.collective, innermost(plan).algorithm);
  if (find_algorithm(problem.collective, plan.algorithm).mean_after_last != nullptr)
    return planning_cost({&row, {}}, problem, network);
  return rooted(problem.collective) || !plan.placement.empty() ? replay_cost(plan) : 0;
}

/// The same for all balanced candidates but rivals, which keep their prices.
Seconds cost_of_prices(const CallClass& call_class, const Network& network) {
  Seconds cost = 0;
  for (const Candidate& each : call_class.balanced)
    cost += each.rival ? 0 : cost_of_price(*each.plan, network);
  return cost;
}

/// Adds a candidate, or replaces that of the same name by it if it is cheaper.
void add(Candidate candidate, std::vector<Candidate>& candidates) {
  const auto found = std::ranges::find(candidates, candidate.name, &Candidate::name);
  if (found == candidates.end()) return candidates.push_back(std::move(candidate));
  if (candidate.predicted < found->predicted) *found = std::move(candidate);
}

}  // namespace

const Algorithm& native_row(Collective collective) { return find_algorithm(collective, "native"); }
const Algorithm& fastest_row(Collective collective) {
  return find_algorithm(collective, "fastest");
}

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

/// Lanes among nodes run the same program. There are none on one node, where nothing runs among
/// nodes, and where memory of nodes cannot be used.
std::vector<Rival> rivals(const Plan& fastest, const Knowledge& knowledge) {
  constexpr std::size_t kMost = 4;
  constexpr double kExchange = 1.5;  // calibrations of links of TCP found 1.2 to 1.8
  Knowledge doubting = knowledge;
  doubting.arrivals.clear();
  if (fastest.algorithm == kNodesRow) {
    if (fastest.placement.empty() || fastest.inner.empty()) return {};
    doubting.placement.clear();
    std::vector<Rival> all = rivals(fastest.inner.front(), doubting);
    std::erase_if(all, [](const Rival& each) { return !each.choice.parameters.empty(); });
    for (Rival& each : all) {
      each.choice =
          parse_choice(fastest.problem.collective, std::string(kNodesRow) + ":among=" + each.name);
    }
    return all;
  }
  const Network& network = knowledge.network;
  doubting.network.exchange = std::max(network.exchange, kExchange);
  std::vector<std::pair<Seconds, Rival>> found;
  for (const Algorithm& row : registry(fastest.problem.collective)) {
    const bool other = row.kind == Kind::program && !row.arrival_aware && row.name != "fastest";
    if (!other || !may_pay(row, fastest.problem, network)) continue;
    const Plan plan = make_plan(row, fastest.problem, {}, doubting);
    const bool same = row.name == fastest.algorithm;
    if (same && plan.parameters == fastest.parameters) continue;
    if (balanced_time(plan, network) > kDoubt * balanced_time(fastest, network)) continue;
    Rival rival{{&row, {}}, std::string(row.name)};
    if (same) rival = {{&row, plan.parameters}, rival.name + "'"};
    found.emplace_back(balanced_time(plan, doubting.network), std::move(rival));
  }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  std::vector<Rival> all;
  for (std::size_t i = 0; i < found.size() && all.size() < kMost; ++i) {
    const bool alike = i > 0 && found[i].first == found[i - 1].first;  // one algorithm, two names
    if (!alike) all.push_back(std::move(found[i].second));
  }
  return all;
}

void Pricer::know(const Network& network, bool telemetry, bool background, bool nodes) {
  known_.network = network;
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

/// Returns the plan of a row, if it is cached or the budget pays for making it; otherwise null.
const CachedPlan* Pricer::plan_if_affordable(CallClass& call_class, const Choice& choice,
                                             const Problem& problem) {
  if (const CachedPlan* const found = plans_for_call().find(choice, problem, known_)) return found;
  if (!accepts(*choice.algorithm, problem, nullptr)) return nullptr;
  if (!call_class.pay(planning_cost(choice, problem, known_.network, known_.placement)))
    return nullptr;
  return &get(choice, problem);
}

/// The price of a plan for these arrivals. In a rooted collective ranks may leave before the last
/// arrival, so that the time from there may be negative and ratios of it mean nothing: there the
/// waiting is added.
Seconds Pricer::price_of(const Plan& plan, const std::vector<Seconds>& arrivals) {
  ++done_.prices[find_algorithm(plan.problem.collective, plan.algorithm).name];
  return mean_after_last(plan, known_.network, arrivals, known_.placement) +
         (rooted(plan.problem.collective) ? waiting(arrivals) : 0);
}

std::vector<Candidate> Pricer::candidates(CallClass& call_class, const Problem& problem,
                                          const std::vector<Seconds>& expected, bool with_rivals) {
  std::vector<Candidate> all;
  const Algorithm& native = native_row(problem.collective);
  all.push_back({&native, std::string(native.name)});
  // What the budget holds goes first to plans for the ranks that are expected late.
  const bool priced = call_class.priced_count == problem.count && call_class.arrivals == expected &&
                      call_class.unpriced.empty();
  collect_balanced(call_class, problem, with_rivals && (!late(expected) || priced));
  if (call_class.balanced.empty()) return all;
  if (late(expected)) price(call_class, problem, expected);
  const bool for_arrivals = late(expected) && call_class.priced_count == problem.count;
  const auto& others = for_arrivals ? call_class.priced : call_class.balanced;
  all.insert(all.end(), others.begin(), others.end());
  all.front().predicted = others.front().predicted;
  all.front().shares = others.front().shares;
  return all;
}

/// Collects the candidates that do not depend on expected arrivals. A protocol moves whole vectors,
/// with control messages in between. Where programs are far better in balance, because a vector is
/// short or can be cut, a protocol may still let most ranks leave early, but the ranks that need
/// the result wait longer: there it does not compete. Nor does it in calls that rank 0 announces.
void Pricer::collect_balanced(CallClass& call_class, const Problem& problem, bool more_rivals) {
  std::vector<Candidate>& all = call_class.balanced;
  all.clear();
  known_.arrivals.clear();
  const auto add = [&](const CachedPlan& cached, std::string_view name, bool rival) {
    const auto usual = call_class.usual_prices.find(name);
    const bool known = usual != call_class.usual_prices.end();
    all.push_back({cached.asked.algorithm, std::string(name),
                   known ? usual->second : cached.balanced, cached.plan, cached.shares, rival});
  };
  const Algorithm& row = fastest_row(problem.collective);
  const CachedPlan* const found = plan_if_affordable(call_class, {&row, {}}, problem);
  if (found == nullptr) return;
  const Seconds least = found->balanced;
  add(*found, row.name, false);
  if (more_rivals && !call_class.knows_rivals) look_for_rivals(call_class, *all.front().plan);
  const std::string fastest = innermost(*all.front().plan).algorithm;
  for (const Rival& each : call_class.rivals) {
    if (each.name == fastest) continue;
    const CachedPlan* const rival = more_rivals
                                        ? plan_if_affordable(call_class, each.choice, problem)
                                        : plans_for_call().find(each.choice, problem, known_);
    if (rival != nullptr) add(*rival, each.name, true);
  }
  for (const Algorithm& each : registry(problem.collective)) {
    if (each.kind != Kind::protocol || (known_.background && !each.runs_ahead)) continue;
    if (!may_pay(each, problem, known_.network, known_.placement)) continue;
    const CachedPlan* const protocol = plan_if_affordable(call_class, {&each, {}}, problem);
    if (protocol != nullptr && protocol->balanced <= kNoWorse * least)
      add(*protocol, each.name, false);
  }
}

/// Looks for the rivals of the class, which takes about as long as planning `fastest` did. Programs
/// of rooted collectives are priced for arrivals, which is too dear for more of them.
void Pricer::look_for_rivals(CallClass& call_class, const Plan& fastest) {
  const Problem& problem = fastest.problem;
  const Choice choice{&fastest_row(problem.collective), {}};
  if (rooted(problem.collective)) return;
  if (!call_class.pay(planning_cost(choice, problem, known_.network, known_.placement))) return;
  call_class.knows_rivals = true;
  call_class.rivals = rivals(fastest, known_);
  ++done_.plans[choice.algorithm->name];
}

/// Prices the candidates for the expected arrivals: first the balanced ones, then arrival-aware
/// rows, the cheapest to plan first, as far as the budget pays for them. Later calls with the same
/// arrivals go on.
void Pricer::price(CallClass& call_class, const Problem& problem,
                   const std::vector<Seconds>& expected) {
  const bool begun = call_class.priced_count == problem.count && call_class.arrivals == expected;
  if (!begun && !begin_pricing(call_class, problem, expected)) return;
  known_.arrivals = expected;
  while (!call_class.unpriced.empty()) {
    const Choice choice = call_class.unpriced.back();
    if (!call_class.pay(planning_cost(choice, problem, known_.network, known_.placement))) return;
    call_class.unpriced.pop_back();
    const CachedPlan& cached = get(choice, problem);
    const std::string name(choice.algorithm->name);
    if (cached.plan->algorithm != name) continue;  // another's, tried under its own name
    add({choice.algorithm, name, price_of(*cached.plan, expected), cached.plan, cached.shares},
        call_class.priced);
  }
}

/// Prices the balanced candidates, and lists the rows that are left. Returns false if the budget is
/// too small.
bool Pricer::begin_pricing(CallClass& call_class, const Problem& problem,
                           const std::vector<Seconds>& expected) {
  call_class.priced_count = -1;
  if (!call_class.pay(cost_of_prices(call_class, known_.network))) return false;
  call_class.priced_count = problem.count;
  call_class.arrivals = expected;
  call_class.priced = call_class.balanced;
  for (Candidate& each : call_class.priced) {
    if (!each.rival && cost_of_price(*each.plan, known_.network) > 0)
      each.predicted = price_of(*each.plan, expected);
  }
  call_class.unpriced.clear();
  for (const Algorithm& row : registry(problem.collective)) {
    const bool candidate = row.arrival_aware && row.name != "auto";
    if (!candidate || !may_pay(row, problem, known_.network, known_.placement)) continue;
    for (Parameters& way : ways(row, problem, known_.network, known_.placement, true))
      call_class.unpriced.push_back({&row, std::move(way)});
  }
  std::ranges::stable_sort(call_class.unpriced, std::greater<>{}, [&](const Choice& choice) {
    return planning_cost(choice, problem, known_.network, known_.placement);
  });
  return true;
}

Seconds Pricer::in_hindsight(CallClass& call_class, std::string_view name, Seconds predicted,
                             const std::vector<Seconds>& arrivals) {
  if (call_class.balanced.empty() || !rooted(call_class.balanced.front().row->collective))
    return predicted;
  if (!call_class.pay(cost_of_prices(call_class, known_.network))) return predicted;
  const double calls = std::min(kLastCalls, ++call_class.usual_of);
  for (const Candidate& each : call_class.balanced) {
    const Seconds price = price_of(*each.plan, arrivals);
    Seconds& usual = call_class.usual_prices.try_emplace(each.name, price).first->second;
    usual += (price - usual) / calls;
    const bool stands_for = name == "native" && &each == &call_class.balanced.front();
    if (each.name == name || stands_for) predicted = price;
  }
  return predicted;
}

}  // namespace latecomer
