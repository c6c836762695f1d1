#include "rehearse/rehearsal.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "algorithms/plans.hpp"
#include "base/error.hpp"
#include "base/parse.hpp"
#include "patterns/powers.hpp"

namespace latecomer {
namespace {

using Counts = std::map<std::string_view, std::uint64_t>;

Seconds sum(const Charges::ByRow& seconds, const Counts& before, const Counts& now) {
  Seconds all = 0;
  for (const auto& [row, count] : now) {
    const auto known = before.find(row);
    const auto fresh = count - (known == before.end() ? 0 : known->second);
    const auto named = seconds.of.find(row);
    all += static_cast<double>(fresh) * (named == seconds.of.end() ? seconds.other : named->second);
  }
  return all;
}

Network slowed(Network network, double slower) {
  for (Seconds* cost : {&network.alpha, &network.beta, &network.gamma, &network.handshake,
                        &network.local_alpha, &network.local_beta, &network.memory}) {
    *cost *= slower;
  }
  return network;
}

void check_pace(const char* what, double pace) {
  if (pace > 0 && std::isfinite(pace)) return;
  throw Error(what, format_number(pace), "a positive number");
}

std::vector<Seconds> later(std::vector<Seconds> times, Seconds seconds) {
  for (Seconds& time : times) time += seconds;
  return times;
}

}  // namespace

Seconds Charges::of(const PlanningDone& before, const PlanningDone& now) const {
  return sum(plan, before.plans, now.plans) + sum(price, before.prices, now.prices);
}

Rehearsal::Rehearsal(Setting setting)
    : setting_(std::move(setting)), chooser_(0, setting_.problem.ranks) {
  check_placement(setting_.placement, setting_.problem.ranks);
  options_.placement = setting_.placement;
  check(setting_);
  chooser_.policy().choice(setting_.problem.collective) = setting_.choice;
  chooser_.policy().network = setting_.assumed;
  if (shares_nodes(setting_.placement)) chooser_.place(setting_.placement);
  if (setting_.wisdom) chooser_.begin_with(*setting_.wisdom);
  const bool needs_arrivals = setting_.choice.algorithm->arrival_aware || !setting_.plain;
  if (!automatic() && needs_arrivals) watch_arrivals();
}

void Rehearsal::check(const Setting& setting) {
  check_pace("cold", setting.cold);
  Knowledge knowledge;
  knowledge.placement = setting.placement;
  const Choice& choice = setting.choice;
  if (!library_alone(setting) && seed_of(choice) == 0)
    (void)make_plan(*choice.algorithm, setting.problem, choice.parameters, knowledge);
  (void)native_plan(setting);
}

void Rehearsal::change(const Problem& problem, const std::optional<Choice>& native) {
  if (problem.collective != setting_.problem.collective || problem.ranks != setting_.problem.ranks)
    throw Error("problem", "another collective or number of ranks", "those of the calls before");
  Setting changed = setting_;
  changed.problem = problem;
  changed.native = native;
  check(changed);
  setting_ = std::move(changed);
}

void Rehearsal::watch_arrivals() {
  const Rank ranks = setting_.problem.ranks;
  chooser_.connected(1);
  chooser_.watch_arrivals();
  watched_ = true;
  for (Rank rank = 1; rank < ranks; ++rank) watches_.emplace_back(rank, ranks);
}

Rehearsal::Call Rehearsal::call(const std::vector<Seconds>& arrivals,
                                const std::vector<Seconds>* given, std::uint64_t seed, Pace pace) {
  check_arrivals(arrivals, setting_.problem.ranks);
  if (given != nullptr && !given->empty()) check_arrivals(*given, setting_.problem.ranks);
  check_pace("slower", pace.network);
  check_pace("library slower", pace.library);
  options_.links = std::exchange(pace.links, {});
  pace_ = pace;
  clock_ = pace.began.value_or(clock_);
  options_.element_bytes = setting_.problem.element_bytes;
  options_.network.seed = seed;
  Policy& policy = chooser_.policy();
  policy.online = given == nullptr;
  const std::vector<Seconds> expected = given != nullptr ? *given : std::vector<Seconds>{};
  if (policy.given != expected) chooser_.expect_anew();
  policy.given = expected;
  Call call;
  call.algorithm = "native";
  const auto [call_class, left] = chooser_.glance(setting_.problem);
  if (left || library_alone(setting_)) {
    only_watch(call, call_class, arrivals);
  } else {
    Seconds deciding = automatic() ? 0 : charge_connecting();
    const Decision decision = chooser_.decide(setting_.problem, call_class);
    if (decision.action == Decision::Action::refused) throw std::runtime_error(decision.why);
    if (!decision.repeated) {
      call.expected = chooser_.expected();
      check_expected();
    }
    if (!decision.repeated && watched_ && setting_.charges) deciding += setting_.charges->look;
    deciding += charge_planning();
    follow(call, decision, call_class, arrivals, deciding);
  }
  options_.links = {};
  clock_ += *std::max_element(call.exits.begin(), call.exits.end());
  return call;
}

/// Checks that the other ranks expect the same arrivals.
void Rehearsal::check_expected() {
  const std::vector<Seconds>& expected = chooser_.expected();
  for (std::size_t i = 0; i < watches_.size(); ++i) {
    if (!chooser_.policy().online) {
      watches_[i].enter_class(setting_.problem);
    } else if (watches_[i].expect(setting_.problem) != expected) {
      throw std::runtime_error("rank " + std::to_string(i + 1) +
                               " expects other arrivals than rank 0");
    }
  }
}

/// Returns what the planning since the last time takes.
Seconds Rehearsal::charge_planning() {
  if (!setting_.charges) return 0;
  const Seconds seconds = setting_.charges->of(charged_, chooser_.planning_done());
  charged_ = chooser_.planning_done();
  return seconds;
}

/// Returns what connecting takes, once.
Seconds Rehearsal::charge_connecting() {
  if (std::exchange(connected_, true) || !setting_.charges) return 0;
  return setting_.charges->connect;
}

void Rehearsal::delay(Call& call, Seconds seconds) {
  call.exits = later(std::move(call.exits), seconds);
  call.finding_out += seconds;
}

/// Sets the costs of the network from now on.
void Rehearsal::meet(double slower) {
  const std::uint64_t seed = options_.network.seed;
  options_.network = slowed(setting_.network, slower);
  options_.network.seed = seed;
}

Simulation Rehearsal::run(const Plan& plan, const std::vector<Seconds>& arrivals, Call* checked) {
  options_.arrivals = arrivals;
  options_.piggybacks = piggybacks_;
  const Executors executors = make_executors(plan, options_.network);
  std::optional<CheckedMemory> memory;
  const bool check = setting_.check && checked != nullptr;
  options_.memory =
      check ? memory.emplace(setting_.problem, executors, options_.network.seed).memory() : nullptr;
  Simulation result = simulate(executors, options_);
  if (!result.failure.empty()) throw std::runtime_error(result.failure);
  if (check) checked->wrong = memory->wrong();
  return result;
}

/// Runs the plan of the call, at the pace of the call's algorithm.
void Rehearsal::run_call(Call& call, const Plan& plan, const std::vector<Seconds>& arrivals) {
  const bool cold = std::exchange(last_algorithm_, call.algorithm) != call.algorithm;
  const double of_library = call.algorithm == "native" ? pace_.library : 1;
  meet(pace_.network * of_library * (cold ? setting_.cold : 1));
  call.exits = run(plan, arrivals, &call).exits;
  meet(pace_.network);
}

Plan Rehearsal::native_plan(const Setting& setting) {
  const Choice choice =
      setting.native.value_or(Choice{&fastest_row(setting.problem.collective), {}});
  return make_plan(*choice.algorithm, setting.problem, choice.parameters, {{}, setting.network});
}

/// Runs a native call, after which only durations are compared.
void Rehearsal::only_watch(Call& call, CallClass* call_class,
                           const std::vector<Seconds>& arrivals) {
  piggybacks_.clear();
  chooser_.skip();
  for (Watch& other : watches_) other.miss();
  run_call(call, native_plan(setting_), arrivals);
  if (call_class == nullptr) return;
  note_inside(*call_class, call, arrivals);
  const Inside inside = inside_of(call, arrivals);
  if (call_class->calls > 0) note(durations_[call_class->key], Reviewed::library, inside);
  if (!chooser_.watched(*call_class, inside.min)) return;
  if (!reviewed(call, *call_class)) return;
  if (!watched_) watch_arrivals();
  delay(call, charge_connecting());
}

Rehearsal::Inside Rehearsal::inside_of(const Call& call, const std::vector<Seconds>& arrivals) {
  std::vector<Seconds> inside;
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
    inside.push_back(call.exits[rank] - arrivals[rank]);
  }
  const auto [min, max] = std::minmax_element(inside.begin(), inside.end());
  return {*min, *max};
}

void Rehearsal::note(Durations& durations, Reviewed by, const Inside& inside) {
  auto& last = durations[static_cast<std::size_t>(by)];
  last.push_front(inside);
  last.resize(std::min(last.size(), Review::kCalls));
}

/// Reviews the class by the reduction of all ranks' reviews. Returns true if it became active.
bool Rehearsal::reviewed(Call& call, CallClass& call_class) {
  if (setting_.charges) exchange_durations(call);
  Review all;
  for (const Reviewed by : {Reviewed::library, Reviewed::decided}) {
    const auto& last = durations_[call_class.key][static_cast<std::size_t>(by)];
    for (std::size_t ago = 0; ago < last.size(); ++ago) {
      all.set_call(by, ago, last[ago].min, last[ago].max);
    }
  }
  all.set_room(true);
  return chooser_.reviewed(call_class, setting_.problem, all);
}

/// The reduction of a review, on the network: of few values, so in as few rounds as possible.
void Rehearsal::exchange_durations(Call& call) {
  constexpr auto kValue = static_cast<Count>(sizeof(double));
  Problem problem;
  problem.ranks = setting_.problem.ranks;
  problem.count = static_cast<Count>(Review{}.values().size());
  problem.element_bytes = kValue;
  const Plan plan = make_plan(find_algorithm(problem.collective, "recursive_doubling"), problem, {},
                              {{}, setting_.network});
  piggybacks_.clear();
  const Seconds before = std::ranges::max(call.exits);
  options_.element_bytes = kValue;
  call.exits = run(plan, call.exits, nullptr).exits;
  options_.element_bytes = setting_.problem.element_bytes;
  call.finding_out += std::ranges::max(call.exits) - before;
}

void Rehearsal::follow(Call& call, const Decision& decision, CallClass* call_class,
                       const std::vector<Seconds>& arrivals, Seconds deciding) {
  piggybacks_.clear();
  call.finding_out += deciding;
  Inside library;
  bool observed = watched_;
  if (decision.action == Decision::Action::plan) {
    call.algorithm = decision.plan->algorithm;
    call.parameters = describe_parameters(*decision.plan, setting_.choice.algorithm->name);
  }
  if (decision.action == Decision::Action::plan && chooser_.piggybacks(*decision.plan)) {
    run_with_piggyback(call, *decision.plan, arrivals, deciding);
  } else {
    const bool native = decision.action != Decision::Action::plan;
    const std::vector<Seconds> begun = later(arrivals, deciding);
    run_call(call, native ? native_plan(setting_) : *decision.plan, begun);
    if (native && call_class != nullptr) library = inside_of(call, begun);
    observed = observed && decision.exchange_arrivals;
    if (observed) exchange_afterwards(call, arrivals, deciding);
    if (call_class != nullptr) note_inside(*call_class, call, begun);
  }
  if (observed) {
    chooser_.learn();
  } else if (watched_) {
    for (std::size_t rank = 0; rank < arrivals.size(); ++rank) watch(rank).miss();
  }
  delay(call, charge_planning());
  if (call_class == nullptr) return;
  if (decision.ends_block) end_block(call, *call_class);
  const auto before = call_class->decided.count();
  const auto library_before = call_class->library.count();
  const Inside all_in = inside_of(call, arrivals);
  const bool due = chooser_.measured(*call_class, library.min, all_in.min);
  Durations& durations = durations_[call_class->key];
  if (call_class->decided.count() > before) note(durations, Reviewed::decided, all_in);
  if (call_class->library.count() > library_before) note(durations, Reviewed::library, library);
  if (due) (void)reviewed(call, *call_class);
}

/// Runs the arrival exchange after a call whose messages carry no stamps.
void Rehearsal::exchange_afterwards(Call& call, const std::vector<Seconds>& arrivals,
                                    Seconds deciding) {
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
    piggybacks_.push_back(
        &watch(rank).begin_exchange(clock_ + arrivals[rank], clock_ + call.exits[rank], deciding));
  }
  const Seconds before = std::ranges::max(call.exits);
  call.exits = run(arrival_exchange_plan(setting_.problem), call.exits, nullptr).exits;
  call.finding_out += std::ranges::max(call.exits) - before;
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank) watch(rank).end_exchange();
}

void Rehearsal::note_inside(const CallClass& call_class, const Call& call,
                            const std::vector<Seconds>& arrivals) {
  if (!call_class.blocks) return;
  auto& now = blocks_[call_class.key].now;
  now.resize(arrivals.size());
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank)
    now[rank].note({clock_ + arrivals[rank], clock_ + call.exits[rank]});
}

/// Ranks wait for those that have not told of the block before, and tell of this one without
/// waiting.
void Rehearsal::end_block(Call& call, CallClass& call_class) {
  Told& blocks = blocks_[call_class.key];
  if (blocks.told) {
    const Seconds before = std::ranges::max(call.exits);
    for (Seconds& exit : call.exits) exit = std::max(exit, blocks.known - clock_);
    call.finding_out += std::ranges::max(call.exits) - before;
    chooser_.learn_block(call_class, *blocks.told);
    delay(call, charge_planning());
  }
  Chooser::end_block(call_class);
  blocks.told = series_of(blocks.now);
  blocks.now.clear();
  const Network& network = setting_.network;
  blocks.known = clock_ + std::ranges::max(call.exits) +
                 (setting_.problem.ranks - 1) * network.occupancy(sizeof(LastCalls));
}

void Rehearsal::run_with_piggyback(Call& call, const Plan& plan,
                                   const std::vector<Seconds>& arrivals, Seconds deciding) {
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
    piggybacks_.push_back(&watch(rank).enter(clock_ + arrivals[rank]));
  }
  run_call(call, plan, later(arrivals, deciding));
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
    watch(rank).leave(clock_ + call.exits[rank], deciding);
  }
}

}  // namespace latecomer
