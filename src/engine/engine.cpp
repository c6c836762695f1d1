#include "engine/engine.hpp"

#include <algorithm>
#include <numeric>

namespace latecomer {
namespace {

bool is_message(const Operation& op) { return op.kind == OpKind::send || op.kind == OpKind::recv; }

}  // namespace

Engine::Engine(const Program& program, Transport& transport, EngineOptions options)
    : program_(program), transport_(transport), options_(options) {
  index_program();
}

void Engine::index_program() {
  const std::size_t size = program_.operations.size();
  unfinished_ = size;
  index_dependents();
  channel_of_.resize(size);
  turn_.resize(size);
  done_.resize(size);
  std::map<std::pair<OpKind, Rank>, std::uint32_t> known;
  for (OpIndex i = 0; i < size; ++i) {
    const Operation& op = program_.operations[i];
    if (!is_message(op)) continue;
    const auto next = static_cast<std::uint32_t>(channels_.size());
    const auto [entry, added] = known.try_emplace({op.kind, op.peer}, next);
    if (added) channels_.push_back({op.peer, {}, 0, 0, false});
    channel_of_[i] = entry->second;
    channels_[entry->second].operations.push_back(i);
    if (!is_long(op)) continue;
    const bool same = !long_.empty() && program_.operations[long_.back()].peer == op.peer;
    turn_[i] = long_.empty() ? 0 : turn_[long_.back()] + (same ? 0 : 1);
    long_.push_back(i);
  }
  std::reverse(long_.begin(), long_.end());
}

/// The reverse of Program::after in one array: a list for each operation would take most of the
/// memory of large simulations.
void Engine::index_dependents() {
  const std::size_t size = program_.operations.size();
  missing_.resize(size);
  dependents_begin_.assign(size + 1, 0);
  for (const auto& earlier : program_.after) {
    for (const OpIndex index : earlier) ++dependents_begin_[index + 1];
  }
  std::partial_sum(dependents_begin_.begin(), dependents_begin_.end(), dependents_begin_.begin());
  dependents_.resize(dependents_begin_.back());
  std::vector<std::size_t> next(dependents_begin_.begin(), dependents_begin_.end() - 1);
  for (OpIndex i = 0; i < size; ++i) {
    missing_[i] = static_cast<std::uint32_t>(program_.after[i].size());
    for (const OpIndex earlier : program_.after[i]) dependents_[next[earlier]++] = i;
  }
}

void Engine::start() {
  if (program_.progress == Progress::foreground) return;
  release_independent();
  pump();
}

/// What waits for nothing.
void Engine::release_independent() {
  for (OpIndex i = 0; i < missing_.size(); ++i) {
    if (missing_[i] == 0) make_ready(i);
  }
}

void Engine::arrive() {
  arrived_ = true;
  if (program_.progress == Progress::foreground) release_independent();
  for (OpIndex i = 0; i < missing_.size(); ++i) {
    if (program_.operations[i].kind == OpKind::arrive) finish(i);
  }
  pump();
}

void Engine::completed(const Completion& completion) {
  const auto index = static_cast<OpIndex>(completion.token);
  const Operation& op = program_.operations[index];
  if (completion.error != 0) {
    fail(to_text(op) + " failed with transport error " + std::to_string(completion.error));
    return;
  }
  if (is_message(op)) {
    Channel& channel = channels_[channel_of_[index]];
    const bool first = channel.operations.front() == index;
    if (op.kind == OpKind::recv && first && completion.plan_hash != program_.plan_hash) {
      fail("rank " + std::to_string(op.peer) + " follows another plan than rank " +
           std::to_string(program_.me));
      return;
    }
    --channel.in_flight;
    if (is_long(op)) finish_long(index);
    note_next(channel);
  } else {
    local_busy_ = false;
  }
  finish(index);
  pump();
}

void Engine::finish(OpIndex index) {
  --unfinished_;
  for (std::size_t i = dependents_begin_[index]; i < dependents_begin_[index + 1]; ++i) {
    const OpIndex later = dependents_[i];
    if (--missing_[later] == 0) make_ready(later);
  }
  if (unfinished_ == 0 && status_ == Status::running) status_ = Status::done;
}

void Engine::make_ready(OpIndex index) {
  const Operation& op = program_.operations[index];
  if (op.kind == OpKind::arrive) return;  // done by arrive()
  if (is_message(op)) {
    note_next(channels_[channel_of_[index]]);
  } else {
    locals_.push(index);
  }
}

/// Messages first: the network works while this rank combines.
void Engine::pump() {
  while (!messages_.empty() && status_ == Status::running) post_message();
  if (!local_busy_ && status_ == Status::running) post_local();
}

/// Has the channel's next operation posted if it can be.
void Engine::note_next(Channel& channel) {
  if (channel.noted || channel.in_flight == options_.window) return;
  if (channel.posted == channel.operations.size()) return;
  const OpIndex next = channel.operations[channel.posted];
  if (missing_[next] != 0) return;
  if (is_long(program_.operations[next]) && turn_[next] != turn_[long_.back()]) return;
  channel.noted = true;
  messages_.push(next);
}

/// The next peer's turn may have come.
void Engine::finish_long(OpIndex index) {
  done_[index] = true;
  while (!long_.empty() && done_[long_.back()]) long_.pop_back();
  if (!long_.empty()) note_next(channels_[channel_of_[long_.back()]]);
}

void Engine::post_message() {
  const OpIndex index = messages_.top();
  messages_.pop();
  Channel& channel = channels_[channel_of_[index]];
  channel.noted = false;
  const bool first = channel.posted++ == 0;
  ++channel.in_flight;
  const Operation& op = program_.operations[index];
  if (op.kind == OpKind::send) {
    transport_.send({op.peer, op.source, first}, program_.plan_hash, index);
  } else {
    transport_.recv({op.peer, op.target, first}, index);
  }
  note_next(channel);
}

void Engine::post_local() {
  if (locals_.empty()) return;
  const OpIndex index = locals_.top();
  const Operation& op = program_.operations[index];
  if (op.kind == OpKind::combine && !may_combine()) return;
  locals_.pop();
  local_busy_ = true;
  if (op.kind == OpKind::combine) {
    transport_.combine(op.source, op.target, op.into, index);
  } else {
    transport_.copy(op.source, op.target, index);
  }
}

void Engine::fail(std::string why) {
  if (status_ == Status::failed) return;
  status_ = Status::failed;
  failure_ = std::move(why);
}

std::string Engine::waiting_for() const {
  std::string text;
  for (const Channel& channel : channels_) {
    if (channel.posted == channel.operations.size() && channel.in_flight == 0) continue;
    const Operation& op = program_.operations[channel.operations.front()];
    const std::size_t done = channel.posted - channel.in_flight;
    text += (text.empty() ? "" : ", ") +
            std::string(op.kind == OpKind::send ? "to send to" : "to receive from") + " rank " +
            std::to_string(channel.peer) + " (" + std::to_string(done) + " of " +
            std::to_string(channel.operations.size()) + " done)";
  }
  return text;
}

}  // namespace latecomer
