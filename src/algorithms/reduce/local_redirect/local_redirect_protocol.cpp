#include "algorithms/reduce/local_redirect/local_redirect_protocol.hpp"

#include <utility>

namespace latecomer::reduce {
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
  fail("rank " + std::to_string(from) + " follows another plan than rank " + std::to_string(me()));
  return false;
}

void LocalRedirectProtocol::fail(std::string why) {
  if (status_ == Status::failed) return;
  status_ = Status::failed;
  failure_ = std::move(why);
}

std::string LocalRedirectProtocol::waiting_for() const {
  if (ended_) return "to hand the result to rank " + std::to_string(line_.root);
  if (rank_.gone()) return "for the result of rank " + std::to_string(line_.tail());
  std::string text;
  if (rank_.left() >= 0) text = "for rank " + std::to_string(rank_at(rank_.left()));
  if (rank_.right() < 0) return text;
  return text + (text.empty() ? "for rank " : " or rank ") + std::to_string(rank_at(rank_.right()));
}

}  // namespace latecomer::reduce
