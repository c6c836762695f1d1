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
  state.chosen.add(selector, selection);
  decision.choice.algorithm = selection.row;  // its parameters are all rows' own: progress
  decision.tell = selection.tell;
  return decision;
}

void leave_decision(CommState& state, const Problem& problem) {
  (void)expect_arrivals(state, problem);
  state.expected.clear();
  state.chosen.add_none();
}

void learn(CommState& state) {
  state.chosen.learn(state.watch->taken(), state.watch->taken_before());
}

}  // namespace latecomer
