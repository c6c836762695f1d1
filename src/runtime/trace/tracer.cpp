#include "runtime/trace/tracer.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <new>
#include <utility>

#include "runtime/attachment.hpp"
#include "runtime/call/datatypes.hpp"
#include "runtime/comm_state.hpp"
#include "runtime/connection/sleeping.hpp"
#include "runtime/progress/progress_thread.hpp"
#include "runtime/trace/outside.hpp"
#include "runtime/trace/stamps.hpp"

namespace latecomer::trace {
namespace {

std::int64_t size_of(MPI_Datatype type) {
  MPI_Count size = 0;
  if (type == MPI_DATATYPE_NULL || PMPI_Type_size_x(type, &size) != MPI_SUCCESS) return 0;
  return std::max<MPI_Count>(size, 0);
}

std::atomic<bool> is_left{false};

/// "ring", and "as=x segments=4" or "segments=4", as "x:segments=4" or "ring:segments=4". Empty
/// where there is no memory.
std::string with_parameters(std::string_view algorithm, std::string_view parameters) try {
  std::string name(algorithm);
  std::string rest(parameters);
  if (rest.starts_with("as=")) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    name = rest.substr(3, end - 3);
    rest = end < rest.size() ? rest.substr(end + 1) : "";
  }
  std::replace(rest.begin(), rest.end(), ' ', ':');
  return rest.empty() ? name : name + ':' + rest;
} catch (const std::bad_alloc&) {
  return {};
}

}  // namespace

std::string_view name_of(MPI_Op op) {
  if (op == MPI_OP_NULL) return "";
  static const std::pair<MPI_Op, const char*> kKnown[] = {
      {MPI_SUM, "sum"},   {MPI_MAX, "max"},   {MPI_MIN, "min"},       {MPI_PROD, "prod"},
      {MPI_LAND, "land"}, {MPI_LOR, "lor"},   {MPI_LXOR, "lxor"},     {MPI_BAND, "band"},
      {MPI_BOR, "bor"},   {MPI_BXOR, "bxor"}, {MPI_MAXLOC, "maxloc"}, {MPI_MINLOC, "minloc"}};
  for (const auto& [known, name] : kKnown) {
    if (op == known) return name;
  }
  int commutes = 1;
  PMPI_Op_commutative(op, &commutes);
  return commutes != 0 ? "user's" : "user's, ordered";
}

void describe(Call& record, const latecomer::Call& call, const CommState& state) {
  const bool at_root = state.rank == call.root;
  if (rooted(call.collective)) record.root = call.root;
  const bool sends = call.collective == Collective::gather && !at_root;
  const bool receives = call.collective == Collective::scatter && !at_root;
  const bool of_receiver =
      receives || (parted(call.collective) && !sends && call.collective != Collective::scatter);
  const std::int64_t size = size_of(of_receiver ? call.recvtype : call.sendtype);
  record.element_bytes = static_cast<std::int32_t>(std::min<std::int64_t>(size, INT32_MAX));
  if (call.parts_differ()) {
    if (call.recvcounts == kNoCounts) return;
    record.bytes = 0;
    for (Rank rank = 0; rank < state.ranks; ++rank) record.bytes += call.part_count(rank) * size;
    return;
  }
  const Count count = of_receiver ? call.recvcount : call.sendcount;
  record.bytes = count * size * (parted(call.collective) ? state.ranks : 1);
}

static_assert(TracedComm::kNone == TraceOfComm::kNone);

Recorder* recorder() {
  if (is_left) return nullptr;
  static Recorder* const made = [] {
    auto file = make_file();
    return file ? new Recorder(std::move(file)) : nullptr;  // calls may come after static objects
  }();
  if (made != nullptr) {
    static const bool ends = end_with_mpi([] { recorder()->end(); });
    (void)ends;
  }
  return made;
}

namespace {

/// Writes how far this rank's clock is from that of the communicator's rank 0.
void add_clock(const CommState& state, const ClockModel& model) {
  Clock record;
  record.communicator = state.trace.id;
  record.origin = static_cast<std::int64_t>(model.origin * 1e9);
  record.offset = model.offset;
  record.error = model.error;
  record.drift = model.drift;
  record.drift_error = model.drift_error;
  recorder()->add(record);
}

/// Writes the communicator's clock where it has changed.
void note_clock(CommState& state) {
  if (!state.resources || !state.resources->clocks.ready()) return;
  const ClockModel& model = state.resources->clocks.model();
  if (state.trace.clock == model.origin) return;
  state.trace.clock = model.origin;
  add_clock(state, model);
}

/// As Call::asleep.
std::uint8_t part_of(const Call& record, Seconds slept) {
  const auto whole = static_cast<double>(record.exit - record.arrival);
  return whole > 0
             ? static_cast<std::uint8_t>(std::lround(255 * std::min(1.0, 1e9 * slept / whole)))
             : std::uint8_t{0};
}

/// Gives the communicator its id, if there is a file.
void introduce(CommState& state) {
  if (is_on() && state.trace.id == TraceOfComm::kNone) recorder()->introduce(state);
}

}  // namespace

void add_clock(MPI_Comm comm, const ClockModel& model) {
  CommState* const state = is_on() ? state_for_call(comm) : nullptr;
  if (state == nullptr) return;
  introduce(*state);
  add_clock(*state, model);
}

TracedComm comm_of_messages(MPI_Comm comm) {
  CommState* const state = state_for_call(comm);
  if (state == nullptr) return {};
  const std::atomic_ref id(state->trace.id);
  if (id.load(std::memory_order_acquire) == TraceOfComm::kNone) recorder()->introduce(*state);
  const std::uint32_t known = id.load(std::memory_order_acquire);
  if (!state->intercommunicator) return {known, 0, state->ranks, false};
  if (state->trace.others == 0) return {};
  return {known, state->trace.others_first, state->trace.others, true};
}

std::shared_ptr<std::uint64_t> calls_on(MPI_Comm comm) { return state_for_call(comm)->trace.calls; }
std::uint32_t made_of(MPI_Comm comm, std::string_view kind, bool is_there) {
  CommState* const state = state_for_call(comm);
  if (state == nullptr || state->intercommunicator || state->ranks == 1) return TracedComm::kNone;
  ++state->trace.objects;
  return is_there ? recorder()->introduce_made_of(*state, kind) : TracedComm::kNone;
}

void leave_to_dropin() { is_left = true; }
bool is_recording() { return stamps::are_kept() || is_on(); }

TracedCall::TracedCall(CommState& state, const latecomer::Call& call)
    : state_(&state),
      calls_(*state.trace.calls),
      collective_(call.parts_differ() ? "allgatherv" : to_string(call.collective)),
      op_(call.op),
      site_(call.site) {
  introduce(state);
  describe(record_, call, state);
  enter(state.trace.id);
}

TracedCall::TracedCall(CommState& state, std::string_view collective, std::int64_t bytes,
                       const void* site)
    : state_(&state), calls_(*state.trace.calls), collective_(collective), site_(site) {
  introduce(state);
  record_.bytes = bytes;
  enter(state.trace.id);
}

TracedCall::TracedCall(std::uint32_t communicator, std::uint64_t& calls,
                       std::string_view collective, std::int64_t bytes, const void* site)
    : calls_(calls), collective_(collective), site_(site) {
  record_.bytes = bytes;
  enter(communicator);
}

void TracedCall::enter(std::uint32_t communicator) {
  record_.communicator = communicator;
  record_.sequence = calls_++;
  outside::entered();
  record_.arrival = now_ns();
  slept_before_ = slept_by_thread();
  if (!is_on()) return;
  recorder()->enter(record_, collective_, site_);
  is_inside_ = true;
}

TracedCall::~TracedCall() {
  if (is_inside_) recorder()->leave();
  outside::left();
}

void TracedCall::end(Served served, std::string_view algorithm, std::string_view parameters) {
  record_.exit = now_ns();
  if (state_ != nullptr && stamps::are_kept()) {
    stamps::add(*state_, collective_,
                {.arrival = record_.arrival,
                 .exit = record_.exit,
                 .bytes = record_.bytes,
                 .site = site_,
                 .sequence = static_cast<std::uint32_t>(record_.sequence)});
  }
  if (!is_inside_) return;
  record_.served = served;
  record_.asleep = part_of(record_, slept_by_thread() - slept_before_);
  recorder()->add(record_, with_parameters(algorithm, parameters), name_of(op_));
  is_inside_ = false;
  if (state_ != nullptr) note_clock(*state_);
}

void TracedCall::withdraw() {
  --calls_;
  if (is_inside_) recorder()->leave();
  is_inside_ = false;
}

void TracedCall::end_as_recorded() {
  const CallCounter counter = state_->trace.counter;
  if (counter == &latecomer_stats::handled) {
    const Collective collective =
        parse_collective(collective_ == "allgatherv" ? "allgather" : collective_);
    return end(Served::handled, state_->choice(collective).algorithm->name, state_->parameters);
  }
  end(counter == &latecomer_stats::native   ? Served::native
      : counter == &latecomer_stats::failed ? Served::failed
                                            : Served::fallback);
}

}  // namespace latecomer::trace
