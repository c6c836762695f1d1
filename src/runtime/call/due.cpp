#include "runtime/call/due.hpp"

#include <bit>
#include <utility>

#include "runtime/call/host_buffers.hpp"
#include "runtime/call/learning.hpp"
#include "runtime/connection/blocking_channel.hpp"
#include "runtime/connection/connect.hpp"

namespace latecomer {
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
