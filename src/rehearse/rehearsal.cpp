#include "rehearse/rehearsal.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "parties/make_party.hpp"

namespace latecomer {
namespace {

std::vector<Seconds> later(std::vector<Seconds> times, Seconds by) {
  for (Seconds& time : times) time += by;
  return times;
}

}  // namespace

Rehearsal::Rehearsal(Setting setting) : setting_(std::move(setting)) {
  const Problem& problem = setting_.problem;
  (void)make_plan(*setting_.choice.algorithm, problem, setting_.choice.parameters, {});
  (void)native_plan();
  for (Rank rank = 0; rank < problem.ranks; ++rank) watches_.emplace_back(rank, problem.ranks);
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
  Call call;
  call.expected = expect();
  if (given != nullptr) call.expected = *given;
  const Algorithm* row = setting_.choice.algorithm;
  const bool apart = rooted(setting_.problem.collective);
  bool tell = !apart || rooted_calls_++ % Selector::kRootedEvery == 0;
  if (automatic()) {
    const auto selection = selector_.choose(setting_.problem, call.expected, setting_.assumed);
    chosen_.add(selector_, selection);
    row = selection.row;
    tell = selection.tell;
  }
  if (row->kind == Kind::native) {
    call.algorithm = "native";
    run_apart(call, native_plan(), arrivals, tell);
  } else if (apart || row->kind == Kind::protocol) {
    run_apart(call, plan_of(call, *row), arrivals, tell);
  } else {
    run_program(call, *row, arrivals);
  }
  learn();
  clock_ += *std::max_element(call.exits.begin(), call.exits.end());
  return call;
}

/// The same on all ranks, or the library is broken.
std::vector<Seconds> Rehearsal::expect() {
  std::vector<Seconds> expected = watches_.front().expect(setting_.problem);
  for (std::size_t rank = 1; rank < watches_.size(); ++rank) {
    if (watches_[rank].expect(setting_.problem) == expected) continue;
    throw std::runtime_error("rank " + std::to_string(rank) +
                             " expects other arrivals than rank 0");
  }
  return expected;
}

Simulation Rehearsal::run(const Plan& plan, const std::vector<Seconds>& arrivals, Call* checked) {
  options_.arrivals = arrivals;
  options_.couriers = couriers_;
  const Parties parties = make_parties(plan, options_.network);
  std::optional<CheckedMemory> memory;
  const bool check = setting_.check && checked != nullptr;
  options_.memory =
      check ? memory.emplace(setting_.problem, parties, options_.network.seed).memory() : nullptr;
  Simulation result = simulate(parties, options_);
  if (!result.failure.empty()) throw std::runtime_error(result.failure);
  if (check) checked->wrong = memory->wrong();
  return result;
}

Plan Rehearsal::native_plan() const {
  const Choice choice =
      setting_.native.value_or(Choice{&find_algorithm(setting_.problem.collective, "fastest"), {}});
  return make_plan(*choice.algorithm, setting_.problem, choice.parameters, {{}, setting_.network});
}

Plan Rehearsal::plan_of(Call& call, const Algorithm& row) const {
  const Parameters parameters = automatic() ? Parameters{} : setting_.choice.parameters;
  const bool telemetry = !rooted(setting_.problem.collective);
  Plan plan =
      make_plan(row, setting_.problem, parameters, {call.expected, setting_.assumed, telemetry});
  call.algorithm = plan.algorithm;
  call.parameters = describe_parameters(plan, setting_.choice.algorithm->name);
  return plan;
}

void Rehearsal::run_apart(Call& call, const Plan& plan, const std::vector<Seconds>& arrivals,
                          bool tell) {
  couriers_.clear();
  call.exits = run(plan, arrivals, &call).exits;
  if (!tell) {
    for (Watch& watch : watches_) watch.miss();
    return;
  }
  for (std::size_t rank = 0; rank < watches_.size(); ++rank) {
    couriers_.push_back(
        &watches_[rank].tell_of(clock_ + arrivals[rank], clock_ + call.exits[rank]));
  }
  call.exits = run(telling_plan(setting_.problem), call.exits, nullptr).exits;
  for (Watch& watch : watches_) watch.told();
}

void Rehearsal::run_program(Call& call, const Algorithm& row,
                            const std::vector<Seconds>& arrivals) {
  couriers_.clear();
  const std::vector<Seconds> entered = later(arrivals, clock_);
  for (std::size_t rank = 0; rank < watches_.size(); ++rank) {
    couriers_.push_back(&watches_[rank].enter(entered[rank]));
  }
  call.exits = run(plan_of(call, row), arrivals, &call).exits;
  for (std::size_t rank = 0; rank < watches_.size(); ++rank) {
    watches_[rank].leave(clock_ + call.exits[rank]);
  }
}

void Rehearsal::learn() {
  if (!automatic()) return;
  const Watch& watch = watches_.front();
  chosen_.learn(watch.taken(), watch.taken_before(), watch.last());
}

}  // namespace latecomer
