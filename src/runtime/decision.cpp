#include "runtime/decision.hpp"

#include <utility>

namespace latecomer {
namespace {

bool chooses(const CommState& state, Collective collective) {
  return state.automatic(collective) && !state.reproducible;
}

/// But for what changes from call to call. Programs of rooted collectives tell nobody.
Knowledge lasting_knowledge(const CommState& state, Collective collective) {
  const Network network = state.reproducible ? with_handshake({}) : state.knowledge.network;
  return {{}, network, state.knowledge.telemetry && !rooted(collective)};
}

/// With an algorithm that was set.
bool worth_telling(CommState& state, Collective collective) {
  return !rooted(collective) || state.rooted_calls++ % Selector::kRootedEvery == 0;
}

}  // namespace

std::vector<Seconds> expect_arrivals(CommState& state, const Problem& problem) {
  if (!state.watch) return state.given;
  std::vector<Seconds> expected = state.watch->expect(problem);
  return state.online ? expected : state.given;
}

Decision likely_decision(const CommState& state, Collective collective) {
  const Choice& set = state.choice(collective);
  const Choice balanced{&find_algorithm(collective, "fastest"), set.parameters};
  Decision decision{state.automatic(collective) ? balanced : set,
                    lasting_knowledge(state, collective)};
  if (!state.reproducible) decision.knowledge.arrivals = state.given;
  return decision;
}

Decision decide(CommState& state, const Problem& problem, std::vector<Seconds> arrivals,
                Selector& selector) {
  if (state.reproducible) arrivals.clear();
  Decision decision = likely_decision(state, problem.collective);
  decision.knowledge.arrivals = state.expected = std::move(arrivals);
  if (!chooses(state, problem.collective)) {
    decision.tell = worth_telling(state, problem.collective);
    return decision;
  }
  const auto selection = selector.choose(problem, state.expected, decision.knowledge.network);
  state.chosen.add(selector, selection);
  decision.choice.algorithm = selection.row;  // its parameters are all programs' own: progress
  if (selection.row->kind == Kind::protocol) decision.choice.parameters.clear();
  decision.tell = selection.tell;
  return decision;
}

void leave_decision(CommState& state, const Problem& problem) {
  (void)expect_arrivals(state, problem);
  state.expected.clear();
  state.chosen.add_none();
}

void learn(CommState& state) {
  const Watch& watch = *state.watch;
  state.chosen.learn(watch.taken(), watch.taken_before(), watch.last());
}

}  // namespace latecomer
