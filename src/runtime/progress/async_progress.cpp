#include "runtime/progress/async_progress.hpp"

#include <bit>
#include <cmath>
#include <mutex>

#include "algorithms/plans.hpp"
#include "base/arithmetic.hpp"
#include "base/error.hpp"
#include "runtime/connection/connect.hpp"
#include "runtime/connection/node_sharing.hpp"

namespace latecomer {
namespace {

// The weight of an announcement: that an exchange of arrivals follows the call, or a block ends.
constexpr double kExchanges = 1;
constexpr double kEndsBlock = 2;

/// True if the announcement takes at most a hundredth of the least time of the call: it takes one
/// start-up for each level of the tree, and the request before it two more; an all-reduce moves two
/// vectors over a link, other collectives one.
bool worth_announcing(const Problem& problem, const Network& network) {
  const auto levels = std::bit_width(static_cast<unsigned>(problem.ranks - 1));
  const Seconds announcing = (levels + 2) * network.alpha;
  const double vectors = problem.collective == Collective::allreduce ? 2 : 1;
  return announcing <= 0.01 * vectors * network.beta * static_cast<double>(problem.bytes());
}

/// The start-ups that a rank without a plan waits before it sends a request: in balanced calls rank
/// 0 sends the plan unasked.
constexpr double kPatience = 4;

std::string in_words(const CallSignature& signature) {
  return std::string(to_string(static_cast<Collective>(signature.collective))) + " of " +
         std::to_string(signature.count) + " elements, root " + std::to_string(signature.root) +
         ", operator " + std::to_string(signature.op) + ", type " + std::to_string(signature.type);
}

std::uint32_t number_of(const Algorithm& row) {
  return static_cast<std::uint32_t>(&row - registry(row.collective).data());
}

/// True if the arrival differs so much from the one reported before that a new report is worth
/// sending.
bool differs(Seconds arrival, Seconds before, Seconds now) {
  constexpr double kPart = 1.0 / 32;
  return std::abs(arrival - before) > kPart * std::abs(arrival - now);
}

}  // namespace

AsyncProgress::AsyncProgress(CommState& state)
    : state_(state),
      channel_(state.resources->comm->link(), state.resources->owner),
      node_(binomial_node(state.ranks, state.rank)),
      sequencer_(state.ranks) {
  state.resources->threads = true;
  (void)end_with_mpi();
  ProgressThread::instance().add(*this);
}

AsyncProgress::~AsyncProgress() { ProgressThread::instance().remove(*this); }

// --- The progress thread ---

bool AsyncProgress::progress() {
  if (!state_.lock.try_lock()) return false;
  const std::lock_guard hold(state_.lock, std::adopt_lock);
  return progress_locked();
}

bool AsyncProgress::progress_locked() try {
  const OwnArithmetic arithmetic;
  if (failure_.code != MPI_SUCCESS || !state_.broken.empty()) return false;
  bool moved = read_messages();
  moved = plan_requested() || moved;
  moved = begin_announced() || moved;
  moved = advance() || moved;
  if (channel_.error() != MPI_SUCCESS)
    fail({channel_.error(), "messages between progress threads failed"});
  return moved;
} catch (const std::exception& error) {
  fail({MPI_ERR_OTHER, error.what()});
  return false;
}

bool AsyncProgress::read_messages() {
  bool any = false;
  while (const auto received = channel_.receive()) {
    any = true;
    take(*received);
  }
  return any;
}

void AsyncProgress::take(const ReceivedPlanMessage& received) {
  const PlanMessage& message = received.message;
  switch (message.kind) {
    case PlanMessage::Kind::request:
      return sequencer_.note_request(message);
    case PlanMessage::Kind::report:
      return sequencer_.note_report(received.from, message);
    case PlanMessage::Kind::plan:
    case PlanMessage::Kind::native:
      return announce(message);
  }
}

/// Sends an announcement to the subtrees, deeper ones first, and notes it on this rank.
void AsyncProgress::announce(const PlanMessage& message) {
  for (auto child = node_.children.rbegin(); child != node_.children.rend(); ++child) {
    channel_.send(child->rank, message);
  }
  announced_.insert_or_assign(message.call, message);
}

/// On rank 0: plans and announces the next call if another rank is already in it.
bool AsyncProgress::plan_requested() {
  const std::uint64_t call = next_call();
  sequencer_.forget(call - 1);
  const PlanHead* const request = sequencer_.requested(call);
  if (request == nullptr || announced_.contains(call)) return false;
  if (request->known != state_.chooser.calls_known()) return false;
  plan_and_announce(request->signature);
  return true;
}

void AsyncProgress::plan_and_announce(const CallSignature& signature) {
  announce(plan_call(signature));
}

Problem AsyncProgress::problem_of(const CallSignature& signature) const {
  Problem problem = latecomer::problem_of(signature, state_.ranks);
  problem.in_place = in_place(problem.collective);
  return problem;
}

/// Decides about a call with rank 0's knowledge; the other ranks follow.
PlanMessage AsyncProgress::plan_call(const CallSignature& signature) {
  PlanMessage message{{PlanMessage::Kind::native, next_call(), state_.chooser.calls_known()}, {}};
  message.signature = signature;
  const Problem problem = problem_of(signature);
  const Decision decision =
      state_.chooser.decide_announced(problem, arrivals_of(message.call, problem));
  message.weight = decision.ends_block ? kEndsBlock : decision.exchange_arrivals ? kExchanges : 0;
  message.arrival = decision.predicted;
  if (decision.row != nullptr) message.row = number_of(*decision.row);
  if (decision.action == Decision::Action::refused) message.text = decision.why;
  if (decision.action != Decision::Action::plan) return message;
  message.kind = PlanMessage::Kind::plan;
  message.text = to_text(*decision.plan);
  return message;
}

/// The arrivals expected from earlier calls and from reports.
std::vector<Seconds> AsyncProgress::arrivals_of(std::uint64_t call, const Problem& problem) {
  std::vector<Seconds> expected = state_.chooser.expect(problem);
  const Policy& policy = state_.chooser.policy();
  if (!policy.online || policy.reproducible) return expected;
  return sequencer_.blend(call, std::move(expected), state_.resources->clocks.now());
}

/// Begins the next call if its plan is announced, while this rank still computes.
bool AsyncProgress::begin_announced() {
  const auto found = announced_.find(next_call());
  if (protocol_ || found == announced_.end() || found->second.kind != PlanMessage::Kind::plan)
    return false;
  // Rank 0's chooser knows the call since it planned it.
  const std::uint64_t known = found->second.known + (state_.rank == 0 ? 1 : 0);
  if (state_.chooser.calls_known() != known || lacks_memory_for(found->second)) return false;
  const auto collective = static_cast<Collective>(found->second.signature.collective);
  begin(found->second, in_place(collective));
  return true;
}

/// Informs the chooser of the call: every rank's must know each call once; rank 0's does since it
/// planned it.
void AsyncProgress::expect(const PlanMessage& message) {
  if (state_.rank == 0) return;
  const Problem problem = problem_of(message.signature);
  (void)state_.chooser.expect(problem);
  const auto rows = registry(problem.collective);
  const auto row = std::min<std::size_t>(message.row, rows.size() - 1);
  state_.chooser.adopt(problem, rows[row], message.arrival);
}

/// Reads each announced plan once.
std::shared_ptr<const Plan> AsyncProgress::plan_of(const PlanMessage& message) {
  if (read_plan_ == nullptr || read_call_ != message.call) {
    read_plan_ = std::make_shared<const Plan>(read_plan(message));
    read_call_ = message.call;
  }
  return read_plan_;
}

/// Throws Error if the announced plan is none for the call.
Plan AsyncProgress::read_plan(const PlanMessage& message) const {
  Plan plan = parse_plan(message.text);
  Problem problem = problem_of(message.signature);
  plan.problem.exact = problem.exact;
  problem.in_place = plan.problem.in_place;  // rank 0's own
  if (plan.problem != problem) {
    throw Error("plan from rank 0", in_words(plan), "one for " + in_words(message.signature));
  }
  check_plan(plan);
  return plan;
}

/// True if the plan uses memory of nodes that was not made: the ranks make it when all are in the
/// call.
bool AsyncProgress::lacks_memory_for(const PlanMessage& message) {
  if (state_.resources->placement.empty()) return false;
  if (delayed_ == message.call) return true;
  const auto collective = static_cast<Collective>(message.signature.collective);
  const std::shared_ptr<const Plan> plan = plan_of(message);
  const Prepared& prepared = prepare(state_, plan, in_place(collective));
  if (lacks_memory(state_, prepared, Layout(type_of(message.signature)))) delayed_ = message.call;
  return delayed_ == message.call;
}

Outcome AsyncProgress::make_memory(const PlanMessage& message, bool in_place) {
  const std::shared_ptr<const Plan> plan = plan_of(message);
  const Prepared& prepared = prepare(state_, plan, in_place);
  return share_memory(state_, prepared, Layout(type_of(message.signature)));
}

void AsyncProgress::begin(const PlanMessage& message, bool in_place) {
  const std::shared_ptr<const Plan> plan = plan_of(message);
  expect(message);
  prepared_ = &prepare(state_, plan, in_place);
  CommResources& resources = *state_.resources;
  const bool piggybacks = state_.chooser.piggybacks(prepared_->plan);
  Piggyback* const piggyback = piggybacks ? &state_.chooser.watch()->begin() : nullptr;
  resources.begin_call(prepared_->plan, prepared_->context(),
                       Buffers(Layout(type_of(message.signature)), nullptr, nullptr,
                               resources.scratch, prepared_->context().scratch_count),
                       op_of(message.signature), message.call, state_.chooser.sends_in_pieces(),
                       piggyback);
  protocol_ =
      prepared_->executor->create_protocol(resources.transport, {state_.tuning.window, true});
  protocol_->start();
}

bool AsyncProgress::advance() {
  if (!protocol_ || protocol_->status() != Status::running) return false;
  const bool moved = state_.resources->transport.poll(*protocol_);
  if (protocol_->status() == Status::failed) fail(failure_of(*protocol_, *state_.resources));
  return moved;
}

/// Fails, and notifies the other ranks at once, since they may wait for this rank, which may
/// compute for long.
void AsyncProgress::fail(Outcome outcome) {
  failure_ = std::move(outcome);
  end_call();
  state_.resources->failures.announce_failure();
  (void)state_.resources->abandon();
}

// --- The program's threads ---

bool AsyncProgress::announces(const Request& request) const {
  if (!state_.chooser.may_run_ahead(request.problem)) return false;
  const auto signature = signature_of(request.call, state_.ranks, state_.rank);
  return signature && worth_announcing(problem_of(*signature), state_.chooser.agreed_network());
}

Outcome AsyncProgress::enter_call(const Request& request, Decision& decision,
                                  Prepared*& prepared) try {
  if (!protocol_) prepared_ = nullptr;
  if (failure_.code != MPI_SUCCESS) return failure_;
  const Call& call = request.call;
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): what has none is not announced
  const CallSignature signature = *signature_of(call, state_.ranks, state_.rank);
  Outcome outcome = wait_for_plan(signature);
  if (outcome.code != MPI_SUCCESS) return outcome;
  const auto found = announced_.find(next_call());
  const PlanMessage message = std::move(found->second);
  announced_.erase(announced_.begin(), std::next(found));
  if (message.signature != signature) {
    return {disagreement_class(), "rank 0 announced a call of " + in_words(message.signature) +
                                      ", and this rank is in one of " + in_words(signature)};
  }
  decision.exchange_arrivals = message.weight == kExchanges;
  decision.ends_block = message.weight == kEndsBlock;
  if (message.kind == PlanMessage::Kind::native) {
    expect(message);
    ++state_.resources->calls;
    decision.why = message.text;
    if (!message.text.empty()) decision.action = Decision::Action::refused;
    return {};
  }
  if (!protocol_ && lacks_memory_for(message)) {
    outcome = make_memory(message, call.in_place());
    if (outcome.code != MPI_SUCCESS) return outcome;
    if (!state_.resources->shares_memory) {  // later calls are planned without
      expect(message);
      ++state_.resources->calls;
      decision.action = Decision::Action::refused;
      decision.why = "the ranks of a node cannot share memory";
      return {};
    }
  }
  operations_ahead_ = protocol_ ? protocol_->done() : 0;
  if (!protocol_) begin(message, call.in_place());
  ++state_.resources->calls;
  in_place_[static_cast<std::size_t>(call.collective)] = call.in_place();
  decision.action = Decision::Action::plan;
  prepared = prepared_;
  return {};
} catch (const Error& error) {
  return {MPI_ERR_OTHER, error.what()};
}

Outcome AsyncProgress::wait_for_plan(const CallSignature& signature) {
  const std::uint64_t call = next_call();
  // Reads messages even if this rank has the plan: an MPI library may accept no more messages from
  // a rank of which many are unreceived (libfabric's tcp provider: 64), and the call's own follow
  // later.
  read_messages();
  sequencer_.forget(call - 1);
  if (state_.rank == 0 && !announced_.contains(call)) plan_and_announce(signature);
  state_.resources->failures.enter_part(FailureDetector::Part::announcement, 0);
  StallMonitor monitor(*state_.resources, {state_.comm, state_.tuning.long_wait, 1});
  const Seconds entered = monotonic_clock();
  bool requested = false;
  while (!announced_.contains(call)) {
    if (read_messages()) {
      monitor.progressed();
      continue;
    }
    if (!requested &&
        monotonic_clock() - entered > kPatience * state_.chooser.policy().network.alpha) {
      channel_.send(
          0, {{PlanMessage::Kind::request, call, state_.chooser.calls_known(), signature}, {}});
      requested = true;
    }
    monitor.pause([&] {
      monitor.report("for rank 0 to announce the call's plan", std::array{Rank{0}});
      state_.resources->failures.ask(0);
    });
    if (monitor.trouble()) return {disagreement_class(), *monitor.trouble()};
    if (channel_.error() != MPI_SUCCESS)
      return {channel_.error(), "asking for the call's plan failed"};
  }
  return {};
}

Outcome AsyncProgress::obstacle() const {
  if (!protocol_) return failure_;
  return {disagreement_class(), "rank 0 announced a call of " +
                                    in_words(announced_.at(next_call()).signature) +
                                    ", and this rank is in another one"};
}

void AsyncProgress::report_expected_arrival(Seconds arrival, double weight) {
  if (state_.chooser.watch() == nullptr) return;
  const Seconds now = state_.resources->clocks.now();
  const bool first = reported_call_ != next_call();
  if (!first && !differs(arrival, reported_, now)) return;
  reported_ = arrival;
  reported_call_ = next_call();
  const PlanMessage message{{PlanMessage::Kind::report, reported_call_, 0, {}, arrival, weight},
                            {}};
  if (state_.rank == 0) return sequencer_.note_report(0, message);
  channel_.send(0, message);
}

}  // namespace latecomer
