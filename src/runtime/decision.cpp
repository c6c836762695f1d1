#include "runtime/decision.hpp"

#include <utility>

namespace latecomer {
namespace {

/// Who is expected when in the call that comes now. The watch is told of every call, whether its
/// answer is used or not.
std::vector<Seconds> arrivals_of(CommState& state, const Problem& problem) {
  if (!state.watch) return state.given;
  std::vector<Seconds> expected = state.watch->expect(problem);
  return state.online ? expected : state.given;
}

bool chooses(const CommState& state) { return state.automatic() && !state.reproducible; }

/// But for what changes from call to call.
Knowledge lasting_knowledge(const CommState& state) {
  const Network network = state.reproducible ? with_handshake({}) : state.knowledge.network;
  return {{}, network, state.knowledge.telemetry};
}

}  // namespace

Decision likely_decision(const CommState& state) {
  const Choice balanced{&find_algorithm(Collective::allreduce, "fastest"), {}};
  Decision decision{state.automatic() ? balanced : state.choice, lasting_knowledge(state)};
  if (!state.reproducible) decision.knowledge.arrivals = state.given;
  return decision;
}

Decision decide(CommState& state, const Problem& problem) {
  state.expected = arrivals_of(state, problem);
  if (state.reproducible) state.expected.clear();
  Decision decision = likely_decision(state);
  decision.knowledge.arrivals = state.expected;
  if (!chooses(state)) return decision;
  state.selected_before = state.selected;
  state.selected = state.selector.choose(problem, state.expected, decision.knowledge.network);
  decision.choice = {state.selected.row, {}};
  decision.tell = state.selected.tell;
  return decision;
}

void learn(CommState& state) {
  if (!chooses(state)) return;
  if (const auto taken = state.watch->taken_before()) {
    state.selector.learn(state.selected_before, *taken);
  }
  if (const auto taken = state.watch->taken()) state.selector.learn(state.selected, *taken);
}

}  // namespace latecomer
