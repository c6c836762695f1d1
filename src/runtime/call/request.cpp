#include "runtime/call/request.hpp"

#include "base/error.hpp"
#include "runtime/call/datatypes.hpp"
#include "runtime/report/log.hpp"
#include "transports/mpi/buffers.hpp"

namespace latecomer {
namespace {

constexpr MPI_Count kLargestElement = MPI_Count{1} << 30;  // MPI packs at most 2 GiB at once

/// True if elements hold so little data for the memory that they span that scratch for them might
/// be more than there is. MPI libraries need no more than the user's own buffers take. In a
/// reduction all ranks must pass the same datatype, so they decide alike.
bool is_sparse(const Problem& problem, MPI_Datatype type) {
  constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
  constexpr std::size_t kMaxSpread = 16;
  const std::size_t bytes = Buffers::node_bytes(Layout(type), problem.count);
  return bytes > kMaxBytes && bytes / kMaxSpread > static_cast<std::size_t>(problem.bytes());
}

/// True if the types fit the operator. Data that are only moved may have any type.
bool types_fit(const Request& request) {
  const Call& call = request.call;
  if (!combines(call.collective)) return true;
  if (call.op == MPI_REPLACE || call.op == MPI_NO_OP) return false;
  if (kind_of(call.op) == OperatorKind::built_in) return defined_on(call.op, call.sendtype);
  const Count bytes = request.problem.element_bytes;
  if (bytes <= 0 || bytes > kLargestElement) return false;
  return !is_sparse(request.problem, call.sendtype);
}

CallCounter reason(const CommState& state, const Request& request) {
  const Problem& problem = request.problem;
  const Algorithm& algorithm = *state.choice(problem.collective).algorithm;
  if (algorithm.kind == Kind::native) return &latecomer_stats::native;
  if (problem.count == 0 || state.ranks == 1) return &latecomer_stats::fallback_trivial;
  if (!types_fit(request)) return &latecomer_stats::fallback_type;
  if (!problem.commutative && algorithm.commutative_only)
    return &latecomer_stats::fallback_operator;
  if (state.settings == Settings::different) return nullptr;  // so may the rules of other ranks
  const bool by_rule = state.chooser.calm_choice(problem).algorithm->kind == Kind::native;
  if (by_rule && !state.chooser.chooses(problem)) return &latecomer_stats::native;
  return nullptr;
}

}  // namespace

MPI_Comm own_comm(const CommState& state) {
  if (state.resources) return state.resources->comm->link().comm();
  return shared_comm::exists() ? shared_comm::link().comm() : MPI_COMM_NULL;
}

Request understand(const CommState& state, const Call& call) {
  Request request{call, {}, nullptr};
  request.problem.collective = call.collective;
  // Only the library knows the two sides of an intercommunicator.
  if (state.intercommunicator) {
    const bool native = state.choice(call.collective).algorithm->kind == Kind::native;
    request.by_library =
        native ? &latecomer_stats::native : &latecomer_stats::fallback_intercommunicator;
    return request;
  }
  std::optional<Problem> problem =
      checked_problem_of(call, state.ranks, state.rank, own_comm(state));
  if (!problem) {
    request.by_library = &latecomer_stats::fallback_arguments;
    return request;
  }
  request.problem = std::move(*problem);
  request.problem.in_place = false;  // each rank's own affair: nothing is decided by it
  request.by_library = reason(state, request);
  return request;
}

bool give_up(CommState& state, const std::string& why) {
  if (!state.broken.empty()) return false;  // an exception may have become a failure already
  if (!if_memory([&] { state.broken = why; })) state.broken = "no memory";
  if (!state.resources) return true;
  state.resources->failures.announce_failure();
  return state.resources->abandon();
}

Ending fail(CommState& state, const Outcome& outcome) {
  (void)give_up(state, outcome.why);
  (void)if_memory([&] {
    std::string text = describe(state.comm) + ": " + outcome.why;
    if (state.resources) text += state.resources->hosts.whereabouts(text);
    log_line(text);
    set_last_error(text);
  });
  return {.code = outcome.code, .counter = &latecomer_stats::failed, .raise = true};
}

Ending refuse(const CommState& state) {
  set_last_error(describe(state.comm) + " failed earlier: " + state.broken);
  return {.code = disagreement_class(), .counter = &latecomer_stats::failed, .raise = true};
}

}  // namespace latecomer
