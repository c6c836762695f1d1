#include "runtime/call/learning.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "algorithms/plans.hpp"
#include "base/parse.hpp"
#include "base/reproducible.hpp"
#include "forecast/call_sequence.hpp"
#include "runtime/call/host_buffers.hpp"
#include "runtime/connection/blocking_channel.hpp"
#include "runtime/connection/clocks/clock_sync.hpp"
#include "runtime/connection/connect.hpp"
#include "runtime/connection/meeting.hpp"
#include "runtime/connection/predecessors.hpp"
#include "runtime/report/log.hpp"
#include "runtime/settings/defaults.hpp"
#include "transports/mpi/backoff.hpp"
#include "transports/mpi/user_code.hpp"

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

/// The two reductions of a review. MPI may write to them until both have ended.
struct Reductions {
  Review review;
  MPI_Request reviewing = MPI_REQUEST_NULL;
  // 1 if all ranks have the reviews of all; the least subject, and the greatest as a negative one.
  std::array<std::int64_t, 3> verdict{};
  MPI_Request agreeing = MPI_REQUEST_NULL;

  [[nodiscard]] bool agreed() const { return verdict[0] == 1 && verdict[1] == -verdict[2]; }
};

int begin_min(void* values, std::size_t count, MPI_Datatype type, MPI_Comm comm,
              MPI_Request& request) {
  return UserCode::run([&] {
    return PMPI_Iallreduce(MPI_IN_PLACE, values, static_cast<int>(count), type, MPI_MIN, comm,
                           &request);
  });
}

/// True if all ranks' reviews came well, within so many seconds. Says if that takes long.
bool ends_within(MPI_Request& request, const CommState& state, Seconds at_most) {
  int code = MPI_SUCCESS;
  const auto ended = [&] {
    int done = 0;
    code = UserCode::run([&] { return PMPI_Test(&request, &done, MPI_STATUS_IGNORE); });
    return done != 0 || code != MPI_SUCCESS;
  };
  const Seconds silent = std::min(state.tuning.long_wait, at_most);
  if (wait_until(ended, silent)) return code == MPI_SUCCESS;
  if (silent == at_most) return false;
  log_line(describe(state.comm) + ", call " + std::to_string(state.calls) + ", rank " +
           std::to_string(state.rank) +
           ": waiting for other ranks to compare their last calls; MPI does not tell which have "
           "not come");
  return wait_until(ended, at_most - silent) && code == MPI_SUCCESS;
}

/// True if all ranks merged their reviews of the same subject. Who waits in vain leaves its part of
/// both reductions: a rank that comes later finds that nobody accepts. Who has the reviews of all
/// waits for the verdict: all have come, and all give one.
bool merge_reviews(const CommState& state, std::uint64_t subject, Review& review, Seconds at_most) {
  const MPI_Comm comm = state.comm;
  auto ours = std::make_unique<Reductions>();
  ours->review = review;
  const auto values = ours->review.values();
  if (begin_min(values.data(), values.size(), MPI_DOUBLE, comm, ours->reviewing) != MPI_SUCCESS) {
    return false;
  }
  const bool all_came = ends_within(ours->reviewing, state, at_most);
  const auto about = static_cast<std::int64_t>(subject >> 1);
  ours->verdict = {all_came ? 1 : 0, about, -about};
  const int code = begin_min(ours->verdict.data(), 3, MPI_INT64_T, comm, ours->agreeing);
  if (!all_came) {
    (void)ours.release();  // MPI writes there when the others come
    return false;
  }
  if (code != MPI_SUCCESS) return false;
  UserCode::run([&] { return PMPI_Wait(&ours->agreeing, MPI_STATUS_IGNORE); });
  if (!ours->agreed()) return false;
  review = ours->review;
  return true;
}

/// Merges the reviews of all ranks by reductions on the program's communicator, which are not mixed
/// up with its blocking calls. Returns false, on all ranks, if some did not come in time or review
/// other calls, as after wrong arguments on one rank; then none is merged on this communicator any
/// more.
bool review_by_reductions(CommState& state, const CallClass& call_class, Review& review) {
  if (state.reviews_missed) return false;
  const Seconds at_most = patience(state) + state.tuning.long_wait;
  const std::array<std::uint64_t, 2> subject = {call_class.key, call_class.calls};
  const bool merged = [&] {
    const ReleasedCommLock released(state.lock);
    return merge_reviews(state, fnv1a(std::span(subject)), review, at_most);
  }();
  if (merged) return true;
  state.reviews_missed = true;
  if (state.rank == 0) {
    log_line(describe(state.comm) + ", call " + std::to_string(state.calls) +
             ": the ranks do not compare the same calls, or one did not come within " +
             format_fixed(at_most, 0) +
             " s: did a rank pass another count, datatype or root? Calls that the MPI library "
             "carries out stay with it");
  }
  return false;
}

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

Ending end_block(CommState& state, Ending ending) {
  CommResources& resources = *state.resources;
  LastCalls mine = ending.call_class->blocks->last_calls;
  ending.call_class->blocks->last_calls.clear();
  CallClass& call_class = state.chooser.block_class(*ending.call_class, ending.announced);
  BlockExchange& blocks = resources.blocks;
  const std::uint64_t owner = resources.owner;
  const CallKey key = call_class.key;
  if (blocks.begun(owner, key)) {
    resources.failures.enter_part(FailureDetector::Part::exchange, 0);
    StallMonitor monitor(resources, {state.comm, state.tuning.long_wait});
    while (!blocks.ended(owner, key)) {
      monitor.pause([&] {
        monitor.report("for other ranks to tell when they were in the calls before", {});
        for (Rank peer = 0; peer < state.ranks; ++peer) {
          if (peer != state.rank) resources.failures.ask(peer);
        }
      });
      if (monitor.trouble()) return fail(state, {disagreement_class(), *monitor.trouble()});
    }
    if (blocks.code() != MPI_SUCCESS)
      return fail(state, {blocks.code(), "ranks could not tell when they were in calls"});
    // If the class has begun anew since, it depends on messages whether a rank is here at all.
    const bool learns = call_class.blocks->told.has_value();
    const CallSeries series = series_of(blocks.take(owner, key));
    state.chooser.learn_block(call_class, series);
    if (learns && series.calls() > 0 &&
        state.clock_refresh.due(std::ranges::max(series.exits.back()))) {
      const Outcome refreshed = refresh_clocks(resources, {state.comm, state.tuning.long_wait});
      if (refreshed.code != MPI_SUCCESS) return fail(state, refreshed);
    }
  }
  blocks.drop_unless([&](CallKey known) { return state.chooser.knows(known); });
  Chooser::end_block(call_class);
  mine.shift(resources.clocks.now() - monotonic_clock());
  blocks.begin(owner, key, mine);
  return ending;
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
  const auto alike = [&](const Problem& due) { return class_key(due) == class_key(problem); };
  std::vector<Problem>& due = state.due.reviews;
  if (due.size() < Chooser::kMaxClasses && std::ranges::none_of(due, alike)) due.push_back(problem);
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
  Due due = std::exchange(state.due, {});
  if (!due.reviews.empty()) {
    const Problem problem = due.reviews.front();
    state.due.reviews.assign(due.reviews.begin() + 1, due.reviews.end());
    Ending reviewed = ending;
    reviewed.call_class = state.chooser.known_class(problem);
    if (reviewed.call_class != nullptr && !reviewed.call_class->active) {
      reviewed = review_watched(state, problem, reviewed);
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
