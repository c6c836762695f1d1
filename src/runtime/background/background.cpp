#include "runtime/background/background.hpp"

#include <bit>
#include <cmath>
#include <mutex>

#include "base/error.hpp"
#include "runtime/background/finalize.hpp"
#include "runtime/call_data.hpp"
#include "runtime/waiting.hpp"

namespace latecomer {
namespace {

/// An announcement takes one start-up a level of the tree, and the question before it two more.
/// That is to be a hundredth of the least time of the call at most: of an all-reduce two vectors'
/// on a link, of others one.
bool worth_announcing(const Problem& problem, const Network& network) {
  const auto levels = std::bit_width(static_cast<unsigned>(problem.ranks - 1));
  const Seconds announcing = (levels + 2) * network.alpha;
  const double vectors = problem.collective == Collective::allreduce ? 2 : 1;
  return announcing <= 0.01 * vectors * network.beta * static_cast<double>(problem.bytes());
}

/// How long a rank without a plan waits until it asks, in start-ups: in balanced calls rank 0 comes
/// by itself.
constexpr double kPatience = 4;

std::string in_words(const Description& what) {
  return std::string(to_string(static_cast<Collective>(what.collective))) + " of " +
         std::to_string(what.count) + " elements, root " + std::to_string(what.root) +
         ", operator " + std::to_string(what.op) + ", type " + std::to_string(what.type);
}

/// Reports that say nothing new are not sent.
bool differs(Seconds arrival, Seconds before, Seconds now) {
  constexpr double kPart = 1.0 / 32;
  return std::abs(arrival - before) > kPart * std::abs(arrival - now);
}

}  // namespace

Background::Background(CommState& state)
    : state_(state),
      post_(state.link->comm->get()),
      node_(binomial_node(state.ranks, state.rank)),
      sequencer_(state.ranks) {
  end_with_mpi();
  ProgressThread::instance().add(*this);
}

Background::~Background() {
  ProgressThread::instance().remove(*this);
  if (!retired_) drain({&post_});
}

Post& Background::retire() {
  retired_ = true;
  return post_;
}

// --- The progress thread ---

bool Background::serve() {
  if (!state_.turn.try_lock()) return false;
  const std::lock_guard hold(state_.turn, std::adopt_lock);
  return step();
}

bool Background::step() try {
  if (failure_.code != MPI_SUCCESS || !state_.broken.empty() || retired_) return false;
  bool moved = read_letters();
  moved = issue_asked() || moved;
  moved = begin_announced() || moved;
  moved = advance() || moved;
  if (post_.error() != MPI_SUCCESS)
    fail({post_.error(), "letters between progress threads failed"});
  return moved;
} catch (const std::exception& error) {
  fail({MPI_ERR_OTHER, error.what()});
  return false;
}

bool Background::read_letters() {
  bool any = false;
  while (const auto delivered = post_.receive()) {
    any = true;
    take(*delivered);
  }
  return any;
}

void Background::take(const Delivered& delivered) {
  const Letter& letter = delivered.letter;
  switch (letter.kind) {
    case Letter::Kind::ask:
      return sequencer_.note_ask(letter);
    case Letter::Kind::report:
      return sequencer_.note_report(delivered.from, letter);
    case Letter::Kind::plan:
    case Letter::Kind::native:
      return announce(letter);
  }
}

/// To the subtrees, deeper ones first, and to this rank itself.
void Background::announce(const Letter& letter) {
  for (auto child = node_.children.rbegin(); child != node_.children.rend(); ++child) {
    post_.send(child->rank, letter);
  }
  announced_.insert_or_assign(letter.call, letter);
}

/// Rank 0: a rank is in a call that this one has not come to.
bool Background::issue_asked() {
  const std::uint64_t call = next_call();
  sequencer_.forget(call - 1);
  const auto what = sequencer_.asked(call);
  if (!what || announced_.contains(call)) return false;
  issue(*what);
  return true;
}

void Background::issue(const Description& what) { announce(plan_call(what)); }

Problem Background::problem_of(const Description& what) const {
  Problem problem = latecomer::problem_of(what, state_.ranks);
  problem.in_place = in_place(problem.collective);
  return problem;
}

/// From what rank 0 knows; the others do as it says.
Letter Background::plan_call(const Description& what) {
  Letter letter{Letter::Kind::plan, next_call(), what, 0, 0, {}};
  const Problem problem = problem_of(what);
  try {
    plan_as(decide(state_, problem, arrivals_of(letter.call, problem), state_.announcing), problem,
            letter);
  } catch (const Error& error) {
    letter.kind = Letter::Kind::native;
    letter.text = error.what();
  }
  return letter;
}

/// Expected from earlier calls, and as reports say.
std::vector<Seconds> Background::arrivals_of(std::uint64_t call, const Problem& problem) {
  std::vector<Seconds> expected = expect_arrivals(state_, problem);
  if (!state_.online) return expected;
  return sequencer_.blend(call, std::move(expected), state_.link->clocks.now());
}

void Background::plan_as(Decision decision, const Problem& problem, Letter& letter) {
  if (decision.choice.algorithm->kind == Kind::native) {
    letter.kind = Letter::Kind::native;
    letter.weight = decision.tell ? 1 : 0;
    return;
  }
  decision.knowledge.background = true;
  const Prepared& made =
      state_.plans.get(decision.choice, problem, decision.knowledge, state_.rank);
  letter.text = to_text(made.plan);
  letter.weight = decision.tell ? 1 : 0;
}

/// This rank still computes, and is to come to this call next.
bool Background::begin_announced() {
  const auto found = announced_.find(next_call());
  if (protocol_ || found == announced_.end() || found->second.kind != Letter::Kind::plan)
    return false;
  const auto collective = static_cast<Collective>(found->second.what.collective);
  begin(found->second, in_place(collective));
  return true;
}

/// Every rank's watch hears of every call once; rank 0's has when it planned it.
void Background::expect(const Letter& letter) {
  if (state_.rank != 0) leave_decision(state_, problem_of(letter.what));
}

void Background::begin(const Letter& letter, bool in_place) {
  Plan plan = parse_plan(letter.text);
  const Problem problem = problem_of(letter.what);
  plan.problem.exact = problem.exact;
  plan.problem.in_place = in_place;
  tells_ = letter.weight > 0;
  expect(letter);
  const Count eager = state_.knowledge.network.eager_elements(problem.element_bytes);
  prepared_ =
      &state_.plans.adopt(std::move(plan), state_.rank, eager, state_.choice(problem.collective));
  Link& link = *state_.link;
  const bool telling = latecomer::tells(state_, prepared_->plan);
  Courier* const courier = telling ? &state_.watch->begin() : nullptr;
  link.transport.begin(Buffers(Layout(type_of(letter.what)), nullptr, nullptr, link.scratch,
                               prepared_->frame().scratch_count),
                       op_of(letter.what), {letter.call, prepared_->frame().plan_hash}, courier);
  protocol_ = prepared_->party->join(link.transport, {state_.tuning.window, true});
  protocol_->start();
}

bool Background::advance() {
  if (!protocol_ || protocol_->status() != Status::running) return false;
  const bool moved = state_.link->transport.poll(*protocol_);
  if (protocol_->status() == Status::failed) fail(failure_of(*protocol_, *state_.link));
  return moved;
}

/// The others may wait for this rank, which may compute for long: they are told at once.
void Background::fail(Outcome outcome) {
  failure_ = std::move(outcome);
  end_call();
  state_.link->control.alarm();
  state_.link->transport.abandon();
}

// --- The program's threads ---

bool Background::serves(const Call& call) const {
  // A protocol does nothing before the arrival.
  if (state_.choice(call.collective).algorithm->kind == Kind::protocol) return false;
  const auto what = describe_call(call, state_.ranks, state_.rank);
  return what && worth_announcing(problem_of(*what), state_.compared);
}

Outcome Background::join(const Call& call, Seconds arrived) try {
  arrived_ = arrived;  // the wait for the plan is part of the call
  if (!protocol_) prepared_ = nullptr;
  if (failure_.code != MPI_SUCCESS) return failure_;
  const Description what = *describe_call(call, state_.ranks, state_.rank);
  Outcome outcome = wait_for_plan(what);
  if (outcome.code != MPI_SUCCESS) return outcome;
  const auto found = announced_.find(next_call());
  const Letter letter = std::move(found->second);
  announced_.erase(announced_.begin(), std::next(found));
  if (letter.what != what) {
    return {disagreement_class(), "rank 0 announced a call of " + in_words(letter.what) +
                                      ", and this rank is in one of " + in_words(what)};
  }
  if (letter.kind == Letter::Kind::native) {
    ++state_.link->calls;
    why_native_ = letter.text;
    tells_ = letter.weight > 0;
    expect(letter);
  } else if (!protocol_) {
    begin(letter, call.in_place());
  }
  return {};
} catch (const Error& error) {
  return {MPI_ERR_OTHER, error.what()};
}

Outcome Background::wait_for_plan(const Description& what) {
  const std::uint64_t call = next_call();
  if (state_.rank == 0 && !announced_.contains(call)) issue(what);
  Waiting waiting(*state_.link, {state_.comm, state_.tuning.long_wait, 1});
  const Seconds entered = monotonic_clock();
  bool asked = false;
  while (!announced_.contains(call)) {
    if (read_letters()) {
      waiting.progressed();
      continue;
    }
    if (!asked && monotonic_clock() - entered > kPatience * state_.knowledge.network.alpha) {
      post_.send(0, {Letter::Kind::ask, call, what, 0, 0, {}});
      asked = true;
    }
    waiting.pause([&] { waiting.say("for rank 0 to announce the call's plan"); });
    if (waiting.trouble()) return {disagreement_class(), *waiting.trouble()};
    if (post_.error() != MPI_SUCCESS) return {post_.error(), "asking for the call's plan failed"};
  }
  return {};
}

Outcome Background::obstacle() const {
  if (!protocol_) return failure_;
  return {disagreement_class(), "rank 0 announced a call of " +
                                    in_words(announced_.at(next_call()).what) +
                                    ", and this rank is in another one"};
}

Outcome Background::carry_out(const Call& call) {
  Link& link = *state_.link;
  ++link.calls;
  link.control.enter(link.calls, prepared_->frame().plan_hash);
  const bool telling = latecomer::tells(state_, prepared_->plan);
  if (telling) state_.watch->arrive(arrived_);
  state_.stats.before_arrival += ahead();
  in_place_[static_cast<std::size_t>(call.collective)] = call.in_place();
  CallData data(call, prepared_->plan.problem, state_.rank);
  if (data.code() != MPI_SUCCESS) return {data.code(), "MPI could not pack the data"};
  link.transport.bind(data.input(), data.output());
  RunOptions options = run_options();
  options.plan = &prepared_->plan;
  Outcome outcome = run(*protocol_, link, options, Begun::before);
  if (outcome.code == MPI_SUCCESS && telling) state_.watch->leave(link.clocks.now());
  end_call();
  if (outcome.code == MPI_SUCCESS) outcome.code = data.finish();
  return outcome;
}

void Background::end_call() { protocol_.reset(); }

void Background::report(Seconds arrival, double weight) {
  if (!state_.watch) return;
  const Seconds now = state_.link->clocks.now();
  const bool first = reported_call_ != next_call();
  if (!first && !differs(arrival, reported_, now)) return;
  reported_ = arrival;
  reported_call_ = next_call();
  const Letter letter{Letter::Kind::report, reported_call_, {}, arrival, weight, {}};
  if (state_.rank == 0) return sequencer_.note_report(0, letter);
  post_.send(0, letter);
}

}  // namespace latecomer
