// Local redirect: ranks stand in a line, and neighbours merge their partial results as soon as both
// are there; a rank that is done tells its left neighbour which rank is next. It decides while it
// runs, so it needs no expected arrivals. A late rank splits the line; both sides are merged before
// it arrives, and two merges remain.
//
// Cost: P-1 merges in all, each of a message, a combine and up to four words; about ceil(log2 P)(6
// alpha + m beta + m gamma) when all arrive together. Use it for vectors of middle length and
// unknown arrivals. Where the operator does not commute, it keeps rank order: the line begins at
// rank 0, and a root other than the last rank receives the result in one message more. Otherwise
// the line ends in the root.
// Source: Marendic 2012, section 4, algorithm 2; local_redirect_state.hpp lists the differences.
#include <string>
#include <utility>
#include <vector>

#include "algorithms/plans.hpp"
#include "algorithms/reduce/local_redirect/local_redirect_state.hpp"
#include "algorithms/row.hpp"
#include "patterns/powers.hpp"
#include "patterns/trees.hpp"
#include "protocol/protocol.hpp"

namespace latecomer::reduce {

// One rank's share in a call: carries out the decisions of LocalRedirectState on a transport.

/// The line, as every rank knows it.
struct Line {
  std::vector<Rank> order;      // ranks by position; the last one ends up with the result
  std::vector<Rank> positions;  // by rank
  Rank root = 0;

  [[nodiscard]] Rank tail() const { return order.back(); }
};

/// The meaning of a control message.
[[nodiscard]] ControlMeaning meaning_of(const Line& line, ControlWords words);

class LocalRedirectProtocol final : public BasicProtocol {
 public:
  /// All must outlive it.
  LocalRedirectProtocol(const Line& line, const RankContext& context, Transport& transport);

  void start() override {}
  void arrive() override;
  void completed(const Completion& completion) override;
  [[nodiscard]] bool uses_control() const override { return true; }
  void on_control(Rank from, ControlWords words) override;
  [[nodiscard]] std::string waiting_for() const override;

 private:
  /// The operations that complete; each runs at most once at a time.
  enum class Task : Token { receive, move, merge, give, keep, hand_over, take_over };

  [[nodiscard]] Rank me() const { return context_.me; }
  [[nodiscard]] bool keeps() const { return line_.tail() == me() && line_.root == me(); }
  [[nodiscard]] Rank rank_at(Rank position) const { return line_.order[position]; }
  void follow(const LocalRedirectState::Step& step);
  void receive(Rank from);
  void merge();
  void combine(const Slice& right, Into into);
  void end();
  void send(Rank to, Task task);
  void take(Rank from, const Slice& target, Task task);
  /// True if the message belongs to the same plan; otherwise the call fails.
  bool check(const Completion& completion, Rank from);
  void post(const Operation& operation, Task task, PostOptions options = {}) {
    transport_.post(operation, static_cast<Token>(task), options);
  }

  const Line& line_;
  const RankContext& context_;
  Transport& transport_;
  LocalRedirectState rank_;
  Slice own_;
  Slice home_;   // where partial results are merged: this rank's own may not be written
  Slice spare_;  // where others' partial results are received
  Slice value_;
  Slice landing_;
  Rank from_ = -1;  // the rank that gives its partial result
  bool ended_ = false;
};

namespace {

/// The lower half is the position plus 1, the upper half the kind of word.
std::uint64_t encode(const Word& word) {
  return std::uint64_t{static_cast<std::uint8_t>(word.said)} << 32 |
         static_cast<std::uint32_t>(word.position + 1);
}

Word decode(std::uint64_t bits) {
  return {static_cast<Said>(bits >> 32), static_cast<Rank>(static_cast<std::uint32_t>(bits)) - 1};
}

}  // namespace

ControlMeaning meaning_of(const Line& line, ControlWords words) {
  static constexpr const char* names[] = {"offer", "ask", "put-off", "give", "redirect"};
  const Word word = decode(words.front());
  ControlMeaning all{names[static_cast<int>(word.said)], std::nullopt, std::nullopt, {}};
  if (word.position >= 0) all.rank = line.order[word.position];
  return all;
}

LocalRedirectProtocol::LocalRedirectProtocol(const Line& line, const RankContext& context,
                                             Transport& transport)
    : line_(line),
      context_(context),
      transport_(transport),
      rank_(line.positions[context.me], context.ranks) {
  const Count count = context.scratch_count / 2;
  own_ = {context.in_place ? Buffer::output : Buffer::input, 0, count};
  home_ = {Buffer::scratch, 0, count};
  if (keeps()) home_ = {Buffer::output, 0, count};
  spare_ = {Buffer::scratch, count, count};
  value_ = own_;
}

void LocalRedirectProtocol::arrive() { follow(rank_.arrive()); }

void LocalRedirectProtocol::on_control(Rank from, ControlWords words) {
  if (status_ == Status::running) follow(rank_.hear(line_.positions[from], decode(words.front())));
}

void LocalRedirectProtocol::follow(const LocalRedirectState::Step& step) {
  for (const auto& [to, word] : step.tell) {
    const std::uint64_t bits = encode(word);
    transport_.send_control(rank_at(to), {&bits, 1});
  }
  if (step.receive_from >= 0) receive(rank_at(step.receive_from));
  if (step.give_to >= 0) send(rank_at(step.give_to), Task::give);
  if (rank_.complete() && !std::exchange(ended_, true)) end();
}

/// Where the operator commutes, all others are merged into the first partial result received.
void LocalRedirectProtocol::receive(Rank from) {
  from_ = from;
  const bool first = value_ != home_ && context_.commutative;
  landing_ = first ? home_ : spare_;
  take(from, landing_, Task::receive);
}

void LocalRedirectProtocol::merge() {
  if (value_ == home_) return combine(value_, Into::right);
  if (context_.commutative) return combine(value_, Into::left);
  post(Operation::copy(value_, home_), Task::move);
}

/// The received partial result lies to the left.
void LocalRedirectProtocol::combine(const Slice& right, Into into) {
  post(Operation::combine(landing_, right, into), Task::merge);
  value_ = home_;
}

/// The last rank of the line has the result.
void LocalRedirectProtocol::end() {
  if (line_.root != me()) return send(line_.root, Task::hand_over);
  const Slice output{Buffer::output, 0, own_.count};
  if (value_ != output) return post(Operation::copy(value_, output), Task::keep);
  status_ = Status::done;
}

void LocalRedirectProtocol::completed(const Completion& completion) {
  if (completion.error != 0) return fail(failure_of(completion));
  switch (static_cast<Task>(completion.token)) {
    case Task::receive:
      if (check(completion, from_)) merge();
      return;
    case Task::move:
      return combine(home_, Into::right);
    case Task::merge:
      return follow(rank_.merged());
    case Task::give:
      if (line_.root == me()) {
        return take(line_.tail(), {Buffer::output, 0, own_.count}, Task::take_over);
      }
      break;
    case Task::take_over:
      if (!check(completion, line_.tail())) return;
      break;
    case Task::keep:
    case Task::hand_over:
      break;
  }
  status_ = Status::done;
}

/// A pair of ranks has at most one message each way.
void LocalRedirectProtocol::send(Rank to, Task task) {
  post(Operation::send(to, value_), task, {.first = true});
}

void LocalRedirectProtocol::take(Rank from, const Slice& target, Task task) {
  post(Operation::recv(from, target), task, {.first = true});
}

bool LocalRedirectProtocol::check(const Completion& completion, Rank from) {
  if (completion.plan_hash == context_.plan_hash) return true;
  fail_by_plan(from, me());
  return false;
}

std::string LocalRedirectProtocol::waiting_for() const {
  if (ended_) return "to hand the result to rank " + std::to_string(line_.root);
  if (rank_.gone()) return "for the result of rank " + std::to_string(line_.tail());
  std::string text;
  if (rank_.left() >= 0) text = "for rank " + std::to_string(rank_at(rank_.left()));
  if (rank_.right() < 0) return text;
  return text + (text.empty() ? "for rank " : " or rank ") + std::to_string(rank_at(rank_.right()));
}

namespace {

class LocalRedirectExecutor final : public Executor {
 public:
  LocalRedirectExecutor(const Plan& plan, Rank me) : context_(context_of(plan, me)) {
    context_.scratch_count = 2 * plan.problem.count;
    line_.order = plan.order;
    line_.root = plan.problem.root;
    line_.positions.resize(plan.order.size());
    for (std::size_t at = 0; at < plan.order.size(); ++at) {
      line_.positions[plan.order[at]] = static_cast<Rank>(at);
    }
  }
  [[nodiscard]] const RankContext& context() const override { return context_; }
  [[nodiscard]] std::unique_ptr<Protocol> create_protocol(
      Transport& transport, const ProtocolOptions& /*options*/) const override {
    return std::make_unique<LocalRedirectProtocol>(line_, context_, transport);
  }
  [[nodiscard]] ControlMeaning meaning(ControlWords words) const override {
    return meaning_of(line_, words);
  }

 private:
  RankContext context_;
  Line line_;
};

void fill_plan(Plan& plan, const Knowledge& /*knowledge*/) {
  const Problem& problem = plan.problem;
  plan.order = rotated_order(problem.ranks, problem.commutative ? problem.root + 1 : 0);
}

Count handed_over(const Plan& plan) { return plan.order.back() == plan.problem.root ? 0 : 1; }

/// One merge on each level, with three words before it.
Cost cost(const Plan& plan) {
  const Count levels = ceil_log2(plan.problem.ranks);
  const Count merged = levels * plan.problem.count;
  const Count more = handed_over(plan);
  return {4 * levels + more, merged + more * plan.problem.count, merged};
}

}  // namespace

LATECOMER_ROW(reduce, local_redirect) {
  return {.scratch_messages = 2,
          .cost_formula = "about ceil(log2 P)(6 alpha + m beta + m gamma) at zero delay",
          .source = "Marendic 2012, algorithm 2",
          .fill_plan = fill_plan,
          .check = check_ordered,
          .cost = cost,
          .executor = executor_of<LocalRedirectExecutor>};
}

}  // namespace latecomer::reduce
