#include "runtime/decision.hpp"

#include <utility>

namespace latecomer {
namespace {

bool chooses(const CommState& state) { return state.automatic() && !state.reproducible; }

/// But for what changes from call to call.
Knowledge lasting_knowledge(const CommState& state) {
  const Network network = state.reproducible ? with_handshake({}) : state.knowledge.network;
  return {{}, network, state.knowledge.telemetry};
}

void select(CommState& state, const Selected& selected) {
  state.selected_before = std::exchange(state.selected, selected);
}

}  // namespace

std::vector<Seconds> expect_arrivals(CommState& state, const Problem& problem) {
  if (!state.watch) return state.given;
  std::vector<Seconds> expected = state.watch->expect(problem);
  return state.online ? expected : state.given;
}

Decision likely_decision(const CommState& state) {
  const Choice balanced{&find_algorithm(Collective::allreduce, "fastest"), state.choice.parameters};
  Decision decision{state.automatic() ? balanced : state.choice, lasting_knowledge(state)};
  if (!state.reproducible) decision.knowledge.arrivals = state.given;
  return decision;
}

Decision decide(CommState& state, const Problem& problem, std::vector<Seconds> arrivals,
                Selector& selector) {
  if (state.reproducible) arrivals.clear();
  Decision decision = likely_decision(state);
  decision.knowledge.arrivals = state.expected = std::move(arrivals);
  if (!chooses(state)) return decision;
  const auto selection = selector.choose(problem, state.expected, decision.knowledge.network);
  select(state, {&selector, selection});
  decision.choice.algorithm = selection.row;  // its parameters are all rows' own: progress
  decision.tell = selection.tell;
  return decision;
}

void leave_decision(CommState& state, const Problem& problem) {
  (void)expect_arrivals(state, problem);
  state.expected.clear();
  select(state, {});
}

void learn(CommState& state) {
  const auto tell = [](const Selected& of, const std::optional<Seconds>& taken) {
    if (of.selector != nullptr && taken) of.selector->learn(of.selection, *taken);
  };
  tell(state.selected_before, state.watch->taken_before());
  tell(state.selected, state.watch->taken());
}

}  // namespace latecomer
