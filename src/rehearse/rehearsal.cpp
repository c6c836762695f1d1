#include "rehearse/rehearsal.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "executors/make_executor.hpp"

namespace latecomer {

Rehearsal::Rehearsal(Setting setting)
    : setting_(std::move(setting)), chooser_(0, setting_.problem.ranks) {
  const Problem& problem = setting_.problem;
  check_placement(setting_.placement, problem.ranks);
  options_.placement = setting_.placement;
  Knowledge knowledge;
  knowledge.placement = setting_.placement;
  (void)make_plan(*setting_.choice.algorithm, problem, setting_.choice.parameters, knowledge);
  (void)native_plan();
  chooser_.policy().choice(problem.collective) = setting_.choice;
  chooser_.policy().network = setting_.assumed;
  if (shares_nodes(setting_.placement)) chooser_.place(setting_.placement);
  if (!automatic()) watch_arrivals();
}

void Rehearsal::watch_arrivals() {
  const Rank ranks = setting_.problem.ranks;
  chooser_.connected(1);
  chooser_.watch_arrivals();
  for (Rank rank = 1; rank < ranks; ++rank) watches_.emplace_back(rank, ranks);
}

Rehearsal::Call Rehearsal::call(const std::vector<Seconds>& arrivals,
                                const std::vector<Seconds>* given, std::uint64_t seed) {
  const auto ranks = static_cast<std::size_t>(setting_.problem.ranks);
  if (arrivals.size() != ranks) {
    throw Error("arrivals", std::to_string(arrivals.size()) + " times",
                "one time for each of " + std::to_string(ranks) + " ranks");
  }
  options_.network = setting_.network;
  options_.network.seed = seed;
  options_.element_bytes = setting_.problem.element_bytes;
  Policy& policy = chooser_.policy();
  policy.online = given == nullptr;
  const std::vector<Seconds> expected = given != nullptr ? *given : std::vector<Seconds>{};
  if (policy.given != expected) chooser_.expect_anew();
  policy.given = expected;
  Call call;
  call.algorithm = "native";
  const bool worth = !automatic() || Chooser::worth_a_class(setting_.problem);
  CallClass* const call_class =
      automatic() && worth ? &chooser_.class_of(setting_.problem) : nullptr;
  if (worth && (call_class == nullptr || !Chooser::left_alone(*call_class))) {
    std::optional<Decision> again;
    if (call_class != nullptr) again = chooser_.repeat(*call_class, setting_.problem);
    if (!again) call.expected = expect();
    const Decision decision = again ? *again : chooser_.decide(setting_.problem);
    if (decision.action == Decision::Action::refused) throw std::runtime_error(decision.why);
    follow(call, decision, call_class, arrivals);
  } else {
    only_watch(call, call_class, arrivals);
  }
  clock_ += *std::max_element(call.exits.begin(), call.exits.end());
  return call;
}

/// Returns the expected arrivals, after checking that they are equal on all ranks.
const std::vector<Seconds>& Rehearsal::expect() {
  const std::vector<Seconds>& expected = chooser_.expect(setting_.problem);
  for (std::size_t i = 0; i < watches_.size(); ++i) {
    if (!chooser_.policy().online) {
      watches_[i].enter_class(setting_.problem);
    } else if (watches_[i].expect(setting_.problem) != expected) {
      throw std::runtime_error("rank " + std::to_string(i + 1) +
                               " expects other arrivals than rank 0");
    }
  }
  return expected;
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

Plan Rehearsal::native_plan() const {
  const Choice choice =
      setting_.native.value_or(Choice{&find_algorithm(setting_.problem.collective, "fastest"), {}});
  return make_plan(*choice.algorithm, setting_.problem, choice.parameters, {{}, setting_.network});
}

/// Runs a native call, after which only durations are compared.
void Rehearsal::only_watch(Call& call, CallClass* call_class,
                           const std::vector<Seconds>& arrivals) {
  piggybacks_.clear();
  chooser_.skip();
  for (Watch& other : watches_) other.miss();
  call.exits = run(native_plan(), arrivals, &call).exits;
  if (call_class == nullptr) return;
  const Inside inside = inside_of(call, arrivals);
  if (call_class->calls > 0) note(Reviewed::library, inside);
  if (!Chooser::watched(*call_class, inside.min)) return;
  if (chooser_.reviewed(*call_class, setting_.problem, review())) watch_arrivals();
}

Rehearsal::Inside Rehearsal::inside_of(const Call& call, const std::vector<Seconds>& arrivals) {
  std::vector<Seconds> inside;
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
    inside.push_back(call.exits[rank] - arrivals[rank]);
  }
  const auto [min, max] = std::minmax_element(inside.begin(), inside.end());
  return {*min, *max};
}

void Rehearsal::note(Reviewed by, const Inside& inside) {
  auto& last = durations_[static_cast<std::size_t>(by)];
  last.push_front(inside);
  last.resize(std::min(last.size(), Review::kCalls));
}

/// The reduction of all ranks' reviews.
Review Rehearsal::review() const {
  Review all;
  for (const Reviewed by : {Reviewed::library, Reviewed::decided}) {
    const auto& last = durations_[static_cast<std::size_t>(by)];
    for (std::size_t ago = 0; ago < last.size(); ++ago) {
      all.set_call(by, ago, last[ago].min, last[ago].max);
    }
  }
  all.set_room(true);
  return all;
}

void Rehearsal::follow(Call& call, const Decision& decision, CallClass* call_class,
                       const std::vector<Seconds>& arrivals) {
  piggybacks_.clear();
  Inside library;
  bool observed = true;
  if (decision.action == Decision::Action::plan) {
    call.algorithm = decision.plan->algorithm;
    call.parameters = describe_parameters(*decision.plan, setting_.choice.algorithm->name);
  }
  if (decision.action == Decision::Action::plan && chooser_.piggybacks(*decision.plan)) {
    run_with_piggyback(call, *decision.plan, arrivals);
  } else {
    const bool native = decision.action != Decision::Action::plan;
    call.exits = run(native ? native_plan() : *decision.plan, arrivals, &call).exits;
    if (native && call_class != nullptr) library = inside_of(call, arrivals);
    if (decision.exchange_arrivals) exchange_afterwards(call, arrivals);
    observed = decision.exchange_arrivals;
  }
  if (observed) {
    chooser_.learn();
  } else {
    for (std::size_t rank = 0; rank < arrivals.size(); ++rank) watch(rank).miss();
  }
  if (call_class == nullptr) return;
  const auto before = call_class->decided.count();
  const auto library_before = call_class->library.count();
  const Inside all_in = inside_of(call, arrivals);
  const bool due = chooser_.measured(*call_class, library.min, all_in.min);
  if (call_class->decided.count() > before) note(Reviewed::decided, all_in);
  if (call_class->library.count() > library_before) note(Reviewed::library, library);
  if (due) (void)chooser_.reviewed(*call_class, setting_.problem, review());
}

/// Runs the arrival exchange after a call whose messages carry no stamps.
void Rehearsal::exchange_afterwards(Call& call, const std::vector<Seconds>& arrivals) {
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
    piggybacks_.push_back(
        &watch(rank).begin_exchange(clock_ + arrivals[rank], clock_ + call.exits[rank]));
  }
  call.exits = run(arrival_exchange_plan(setting_.problem), call.exits, nullptr).exits;
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank) watch(rank).end_exchange();
}

void Rehearsal::run_with_piggyback(Call& call, const Plan& plan,
                                   const std::vector<Seconds>& arrivals) {
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
    piggybacks_.push_back(&watch(rank).enter(clock_ + arrivals[rank]));
  }
  call.exits = run(plan, arrivals, &call).exits;
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
    watch(rank).leave(clock_ + call.exits[rank]);
  }
}

}  // namespace latecomer
