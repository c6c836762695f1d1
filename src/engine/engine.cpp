#include "engine/engine.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace latecomer {

ProgramIndex::ProgramIndex(const Program& program, Count eager)
    : program_(program), eager_(program.receiver_paced && eager != kNothingLong ? 0 : eager) {
  index_dependents();
  index_messages();
  if (!program.piggybacking.empty()) piggybacks_.resize(size());
  for (const OpIndex piggybacking : program.piggybacking) piggybacks_[piggybacking] = true;
}

/// The reverse of Program::after in one array: a list for each operation would take most of the
/// memory of large simulations.
void ProgramIndex::index_dependents() {
  const std::size_t size = program_.operations.size();
  waits_.resize(size);
  dependents_begin_.assign(size + 1, 0);
  for (const auto& earlier : program_.after) {
    for (const OpIndex index : earlier) ++dependents_begin_[index + 1];
  }
  std::partial_sum(dependents_begin_.begin(), dependents_begin_.end(), dependents_begin_.begin());
  dependents_.resize(dependents_begin_.back());
  std::vector<std::size_t> next(dependents_begin_.begin(), dependents_begin_.end() - 1);
  for (OpIndex i = 0; i < size; ++i) {
    waits_[i] = static_cast<std::uint32_t>(program_.after[i].size());
    for (const OpIndex earlier : program_.after[i]) dependents_[next[earlier]++] = i;
  }
}

void ProgramIndex::index_messages() {
  channel_of_.resize(size());
  turn_.resize(size());
  std::map<std::pair<OpKind, Rank>, std::uint32_t> known;
  for (OpIndex i = 0; i < size(); ++i) {
    const Operation& op = operation(i);
    if (op.kind == OpKind::arrive) arrivals_.push_back(i);
    if (op.kind == OpKind::signal || op.kind == OpKind::await) ++flags_;
    if (op.kind == OpKind::accumulate) ++accumulates_;
    if (op.kind == OpKind::combine || op.kind == OpKind::copy || op.kind == OpKind::accumulate) {
      ++locals_;
    }
    if (!is_message(op)) continue;
    const auto next = static_cast<std::uint32_t>(channels_.size());
    const auto [entry, added] = known.try_emplace({op.kind, op.peer}, next);
    if (added) channels_.push_back({op.peer, {}});
    channel_of_[i] = entry->second;
    channels_[entry->second].operations.push_back(i);
    if (!is_long(op)) continue;
    const bool same = !long_.empty() && operation(long_.back()).peer == op.peer;
    turn_[i] = long_.empty() ? 0 : turn_[long_.back()] + (same ? 0 : 1);
    long_.push_back(i);
  }
}

namespace {

void push(std::vector<OpIndex>& heap, OpIndex index) {
  heap.push_back(index);
  std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

void pop(std::vector<OpIndex>& heap) {
  std::pop_heap(heap.begin(), heap.end(), std::greater<>());
  heap.pop_back();
}

}  // namespace

Engine::Engine(const ProgramIndex& index, Transport& transport, EngineOptions options)
    : index_(index),
      transport_(transport),
      options_(options),
      missing_(index.size()),
      channels_(index.channels().size()),
      done_(index.long_receives().empty() ? 0 : index.size()),
      awaited_(index.flags() == 0 ? 0 : index.size()) {
  messages_.reserve(channels_.size());
  locals_.reserve(index.locals());
  busy_.reserve(index.accumulates());
  flags_.reserve(index.flags());
  reset();
}

bool Engine::restart(const ProtocolOptions& options) {
  options_ = options;
  reset();
  return true;
}

/// Sets the state at the begin of a call. Allocates nothing.
void Engine::reset() {
  status_ = Status::running;
  failure_.clear();
  arrived_ = false;
  local_busy_ = false;
  unfinished_ = index_.size();
  std::copy(index_.waits().begin(), index_.waits().end(), missing_.begin());
  std::fill(channels_.begin(), channels_.end(), Progressed{});
  std::fill(done_.begin(), done_.end(), false);
  std::fill(awaited_.begin(), awaited_.end(), false);
  long_done_ = 0;
  messages_.clear();
  locals_.clear();
  busy_.clear();
  flags_.clear();
}

void Engine::start() {
  if (index_.program().progress == Progress::foreground) return;
  release_independent();
  pump();
}

/// Makes the operations without dependencies ready.
void Engine::release_independent() {
  for (OpIndex i = 0; i < missing_.size(); ++i) {
    if (missing_[i] == 0) make_ready(i);
  }
}

void Engine::arrive() {
  arrived_ = true;
  if (index_.program().progress == Progress::foreground) release_independent();
  for (const OpIndex arrival : index_.arrivals()) finish(arrival);
  pump();
}

void Engine::completed(const Completion& completion) {
  const Rank me = index_.program().me;
  if (completion.stranger >= 0) return fail_by_plan(completion.stranger, me);
  const auto index = static_cast<OpIndex>(completion.token);
  const Operation& op = index_.operation(index);
  if (completion.error != 0) {
    const std::string whose = !is_message(op) ? ""
                              : op.kind == OpKind::send
                                  ? "a message to rank " + std::to_string(op.peer) + ": "
                                  : "a message from rank " + std::to_string(op.peer) + ": ";
    fail(whose + to_text(op) + " failed with transport error " + std::to_string(completion.error));
    return;
  }
  if (is_message(op)) {
    const std::uint32_t channel = index_.channel_of(index);
    const bool first = index_.channels()[channel].operations.front() == index;
    if (op.kind == OpKind::recv && first && completion.plan_hash != index_.program().plan_hash) {
      return fail_by_plan(op.peer, me);
    }
    --channels_[channel].in_flight;
    if (index_.is_long(op)) finish_long(index);
    note_next(channel);
  } else if (op.kind == OpKind::await) {
    awaited_[index] = true;
  } else if (op.kind != OpKind::signal) {
    local_busy_ = false;
    if (completion.busy) {
      busy_.push_back(index);
      return pump();
    }
    for (const OpIndex again : busy_) push(locals_, again);
    busy_.clear();
  }
  finish(index);
  pump();
}

void Engine::finish(OpIndex index) {
  --unfinished_;
  for (const OpIndex later : index_.dependents(index)) {
    if (--missing_[later] == 0) make_ready(later);
  }
  if (unfinished_ == 0 && status_ == Status::running) status_ = Status::done;
}

void Engine::make_ready(OpIndex index) {
  const Operation& op = index_.operation(index);
  if (op.kind == OpKind::arrive) return;  // done by arrive()
  if (is_message(op)) {
    note_next(index_.channel_of(index));
  } else if (op.kind == OpKind::signal || op.kind == OpKind::await) {
    flags_.push_back(index);
  } else {
    push(locals_, index);
  }
}

/// Posts signals, which others wait for, and messages before local work, so that the network is
/// busy while this rank combines.
void Engine::pump() {
  for (std::size_t next = 0; next < flags_.size() && status_ == Status::running; ++next) {
    const OpIndex index = flags_[next];
    transport_.post(index_.operation(index), index, {.piggybacks = index_.piggybacks(index)});
  }
  flags_.clear();
  while (!messages_.empty() && status_ == Status::running) post_message();
  if (!local_busy_ && status_ == Status::running) post_local();
}

/// Puts the channel's next operation among those to post, if it can be posted.
void Engine::note_next(std::uint32_t channel) {
  Progressed& progressed = channels_[channel];
  if (progressed.noted || progressed.in_flight == options_.window) return;
  const std::vector<OpIndex>& operations = index_.channels()[channel].operations;
  if (progressed.posted == operations.size()) return;
  const OpIndex next = operations[progressed.posted];
  if (missing_[next] != 0) return;
  if (index_.is_long(index_.operation(next)) && index_.turn(next) != index_.turn(next_long())) {
    return;
  }
  progressed.noted = true;
  push(messages_, next);
}

/// Notes that a long receive is done: the next peer's long receives may follow.
void Engine::finish_long(OpIndex index) {
  done_[index] = true;
  const std::size_t all = index_.long_receives().size();
  while (long_done_ < all && done_[next_long()]) ++long_done_;
  if (long_done_ < all) note_next(index_.channel_of(next_long()));
}

void Engine::post_message() {
  const OpIndex index = messages_.front();
  pop(messages_);
  const std::uint32_t channel = index_.channel_of(index);
  Progressed& progressed = channels_[channel];
  progressed.noted = false;
  const bool first = progressed.posted++ == 0;
  ++progressed.in_flight;
  const Operation& op = index_.operation(index);
  const bool paced = index_.program().receiver_paced && !op.data().empty();
  transport_.post(op, index,
                  {.first = first, .piggybacks = index_.piggybacks(index), .paced = paced});
  note_next(channel);
}

void Engine::post_local() {
  const bool waits = locals_.empty();
  if (waits) {  // there is nothing else to do
    for (const OpIndex again : busy_) push(locals_, again);
    busy_.clear();
  }
  if (locals_.empty()) return;
  const OpIndex index = locals_.front();
  const Operation& op = index_.operation(index);
  if (op.kind != OpKind::copy && !may_combine()) return;
  pop(locals_);
  local_busy_ = true;
  transport_.post(op, index, {.piggybacks = index_.piggybacks(index), .waits = waits});
}

std::string Engine::waiting_for() const {
  std::string text;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const ProgramIndex::Channel& channel = index_.channels()[i];
    const Progressed& progressed = channels_[i];
    if (progressed.posted == channel.operations.size() && progressed.in_flight == 0) continue;
    const Operation& op = index_.operation(channel.operations.front());
    const std::size_t done = progressed.posted - progressed.in_flight;
    text += (text.empty() ? "" : ", ") +
            std::string(op.kind == OpKind::send ? "to send to" : "to receive from") + " rank " +
            std::to_string(channel.peer) + " (" + std::to_string(done) + " of " +
            std::to_string(channel.operations.size()) + " done)";
  }
  for (OpIndex i = 0; i < missing_.size(); ++i) {
    const Operation& op = index_.operation(i);
    if (op.kind != OpKind::await || awaited_.empty() || awaited_[i]) continue;
    if (missing_[i] != 0) continue;
    text += (text.empty() ? "" : ", ") + std::string("until flag ") + std::to_string(op.flag) +
            " of its node has counted to " + std::to_string(op.count);
    break;
  }
  return text;
}

}  // namespace latecomer
