#include "runtime/call/learning.hpp"

#include <bit>
#include <memory>
#include <utility>

#include "algorithms/plans.hpp"
#include "runtime/call/host_buffers.hpp"
#include "runtime/connection/blocking_channel.hpp"
#include "runtime/connection/clocks/clock_sync.hpp"
#include "runtime/connection/connect.hpp"
#include "runtime/connection/meeting.hpp"
#include "runtime/connection/predecessors.hpp"
#include "runtime/settings/defaults.hpp"

namespace latecomer {
namespace {

/// Exchanges arrivals between all ranks. All ranks have been in the call, so none waits here for
/// one that still computes.
Outcome exchange_arrivals(CommState& state, const Entry& entry) {
  CommResources& resources = *state.resources;
  if (!state.arrival_exchange) {
    Problem problem;
    problem.ranks = state.ranks;
    state.arrival_exchange = std::make_unique<Prepared>(
        std::make_shared<const Plan>(arrival_exchange_plan(problem)), false, state.rank, 0);
  }
  const Prepared& exchange = *state.arrival_exchange;
  resources.failures.enter_part(FailureDetector::Part::exchange, exchange.context().plan_hash);
  Piggyback& piggyback =
      state.chooser.watch()->begin_exchange(entry.arrived, resources.clocks.now(), entry.deciding);
  Buffers none(Layout(MPI_BYTE), nullptr, nullptr, resources.scratch, 0);
  resources.transport.begin(std::move(none), MPI_SUM,
                            {resources.calls, exchange.context().plan_hash}, &piggyback);
  Protocol& protocol = exchange.protocol(resources.transport, {state.tuning.window, true});
  const Outcome outcome =
      run(protocol, resources, {state.comm, state.tuning.long_wait, 0, &exchange.plan});
  if (outcome.code != MPI_SUCCESS) return outcome;
  resources.end_call();
  state.chooser.watch()->end_exchange();
  return outcome;
}

}  // namespace

Outcome note_arrivals(CommState& state) {
  const Watch* const watch = state.chooser.watch();
  if (watch == nullptr) return {};
  state.chooser.learn();
  if (!state.clock_refresh.due(watch->last_arrival())) return {};
  return refresh_clocks(*state.resources, {state.comm, state.tuning.long_wait});
}

Outcome exchange_afterwards(CommState& state, bool exchange, const Entry& entry) {
  if (state.chooser.watch() == nullptr) return {};
  if (!exchange) {
    state.chooser.miss();
    return {};
  }
  const Outcome exchanged = exchange_arrivals(state, entry);
  return exchanged.code == MPI_SUCCESS ? note_arrivals(state) : exchanged;
}

Ending review_watched(CommState& state, const Problem& problem, Ending ending) {
  Inheritance inheritance(state, Inheritance::Of::everything);
  Review all = state.chooser.review(*ending.call_class, may_connect(state));
  all.offer(inheritance.state_hash());
  const bool merged = state.identity ? review_by_meeting(state, *state.identity, problem, all)
                                     : review_by_reductions(state, *ending.call_class, all);
  if (!merged) {
    Chooser::defer(*ending.call_class);
    return ending;
  }
  if (all.agreed()) {
    inheritance.accept();
    ending.call_class = &state.chooser.class_of(problem);
    return ending;
  }
  if (!state.chooser.reviewed(*ending.call_class, problem, all)) return ending;
  const Outcome connected = connect_for_choice(state);
  return connected.code == MPI_SUCCESS ? ending : fail(state, connected);
}

Ending review_in_time(CommState& state, const Problem& problem, Ending ending) {
  if (!defaults().waits_for_synchronising_calls || !rooted(problem.collective)) {
    return review_watched(state, problem, ending);
  }
  state.due.review = problem;
  Chooser::defer(*ending.call_class);
  return ending;
}

Ending review_decided(CommState& state, const Problem& problem, Ending ending) {
  CommResources& resources = *state.resources;
  resources.failures.enter_part(FailureDetector::Part::review, 0);
  BlockingChannel channel(resources, {state.comm, state.tuning.long_wait}, Tags::kReview,
                          "to review the last calls");
  const Review all = tree_allreduce(channel, state.ranks, state.rank,
                                    state.chooser.review(*ending.call_class, true),
                                    [](Review& mine, const Review& theirs) { mine.merge(theirs); });
  if (channel.failed()) return fail(state, channel.outcome());
  state.chooser.reviewed(*ending.call_class, problem, all);
  return ending;
}

namespace {

/// The handled calls after which ranks tell each other whether they pass memory of a device, which
/// they may begin to do at any time. Until all know, each copies its own.
bool tells_of_devices(std::uint64_t calls) {
  constexpr std::uint64_t kEvery = 256;
  return calls < kEvery ? std::has_single_bit(calls) : calls % kEvery == 0;
}

Outcome tell_of_devices(CommState& state) {
  CommResources& resources = *state.resources;
  BlockingChannel channel(resources, {state.comm, state.tuning.long_wait}, Tags::kReview,
                          "to compare the kinds of buffers");
  const auto any = tree_allreduce(channel, state.ranks, state.rank,
                                  std::uint64_t{state.passed_device_memory ? 1U : 0U},
                                  [](std::uint64_t& all, std::uint64_t theirs) { all |= theirs; });
  if (!channel.failed()) resources.device_memory = any != 0;
  return channel.outcome();
}

}  // namespace

void note_device_memory(CommState& state, const Call& call) {
  state.device_call = passes_device_memory(call, state.ranks, state.rank);
  state.passed_device_memory = state.passed_device_memory || state.device_call;
}

void note_decided(CommState& state, std::uint64_t calls) {
  if (!state.async_progress && tells_of_devices(calls)) state.due.device = true;
}

bool synchronises(const CommState& state, const Request& request) {
  if (request.by_library != nullptr && request.by_library != &latecomer_stats::native) return false;
  return !rooted(request.problem.collective) && request.problem.bytes() > 0 && state.ranks > 1 &&
         !state.intercommunicator && state.broken.empty();
}

Ending settle(CommState& state, Ending ending) {
  const Due due = std::exchange(state.due, {});
  if (due.review) {
    Ending reviewed = ending;
    reviewed.call_class = &state.chooser.class_of(*due.review);
    if (!reviewed.call_class->active) {
      reviewed = review_watched(state, *due.review, reviewed);
      if (reviewed.raise) return reviewed;
    }
  }
  if (due.device) {
    const Outcome told = tell_of_devices(state);
    if (told.code != MPI_SUCCESS) return fail(state, told);
  }
  if (!due.link || state.resources) return ending;
  const Outcome connected = connect_and_watch(state);
  if (connected.code == MPI_SUCCESS || state.resources_failed) return ending;
  return fail(state, connected);
}

}  // namespace latecomer
