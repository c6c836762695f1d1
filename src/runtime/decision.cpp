#include "runtime/decision.hpp"

#include <utility>

namespace latecomer {
namespace {

std::vector<Seconds> arrivals_of(CommState& state, const Problem& problem) {
  if (!state.watch) return state.given;
  std::vector<Seconds> expected = state.watch->expect(problem);  // told of every call
  return state.online ? expected : state.given;
}

}  // namespace

Decision decide(CommState& state, const Problem& problem) {
  std::vector<Seconds> arrivals = arrivals_of(state, problem);
  if (!state.automatic()) return {state.choice, std::move(arrivals)};
  state.selected_before = state.selected;
  state.selected = state.selector.choose(problem, arrivals, state.knowledge.network);
  return {{state.selected.row, {}}, std::move(arrivals), state.selected.tell};
}

void learn(CommState& state) {
  if (!state.automatic()) return;
  if (const auto taken = state.watch->taken_before()) {
    state.selector.learn(state.selected_before, *taken);
  }
  if (const auto taken = state.watch->taken()) state.selector.learn(state.selected, *taken);
}

}  // namespace latecomer
