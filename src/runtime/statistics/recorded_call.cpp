#include "runtime/statistics/recorded_call.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/clocks/clocks.hpp"

namespace latecomer {
namespace {

/// Mean over the ranks of |expected - actual|; none if nothing was expected.
std::optional<Seconds> estimate_error(const std::vector<Seconds>& expected,
                                      const std::vector<Seconds>& actual) {
  if (expected.empty() || expected.size() != actual.size()) return std::nullopt;
  Seconds sum = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) sum += std::abs(expected[i] - actual[i]);
  return sum / static_cast<Seconds>(actual.size());
}

EndedCall::Told what_telemetry_told(const CommState& state) {
  const Watch& watch = *state.watch;
  return {watch.history().period, watch.history().position, std::max(0.0, watch.waited()),
          std::max(0.0, watch.moved()), estimate_error(state.expected, watch.last())};
}

}  // namespace

RecordedCall::RecordedCall(CommState& state, const Call& call)
    : state_(state), arguments_(call), entered_(monotonic_clock()) {
  call_.before = state.stats;
}

void RecordedCall::end(int code) {
  call_.inside = monotonic_clock() - entered_;
  call_.site = arguments_.site;
  call_.after = state_.stats;
  call_.problem.collective = arguments_.collective;
  if (!wrong(arguments_, state_.ranks, state_.rank)) {
    call_.problem = problem_of(arguments_, state_.ranks, state_.rank);
  }
  const bool handled = call_.after.handled != call_.before.handled;
  const bool chosen = handled || call_.after.native != call_.before.native;
  if (chosen && state_.watch && state_.watch->watched()) call_.told = what_telemetry_told(state_);
  call_.well = code == MPI_SUCCESS;
  call_.algorithm = handled ? state_.choice(arguments_.collective).algorithm->name : "native";
  if (handled) call_.parameters = state_.parameters;
  state_.statistics.add(call_);
}

}  // namespace latecomer
