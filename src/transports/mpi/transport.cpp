#include "transports/mpi/transport.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace latecomer {
namespace {

constexpr unsigned kPatience = 256;  // polls without news of the node, until plans are compared

}  // namespace

MpiTransport::MpiTransport(const Link& link, Count piece_limit, std::size_t staged_bytes)
    : messages_(link, piece_limit, staged_bytes, finished_),
      local_work_(link.comm(), piece_limit),
      control_(link) {}

void MpiTransport::begin(Buffers buffers, MPI_Op op, const Call& call, Piggyback* piggyback,
                         NodeMemory* node) {
  buffers_ = std::move(buffers);
  op_ = op;
  messages_.begin(buffers_, call, piggyback);
  control_.begin(call.number);
  error_ = MPI_SUCCESS;
  looks_ = 0;
  // The ranks must also find the elements at the same places.
  const auto spacing = static_cast<std::uint64_t>(node == nullptr ? 0 : buffers_.node_spacing());
  flags_.begin(node, call.plan_hash ^ spacing * 0x9e3779b97f4a7c15U, piggyback);
  held_back_ = flags_.used();
  begin_held();
}

void MpiTransport::post(const Operation& operation, Token token, PostOptions options) {
  if (held_back_) return held_.push_back({operation, token, options});
  switch (operation.kind) {
    case OpKind::arrive:
      return;
    case OpKind::send:
    case OpKind::recv:
      return messages_.post(operation, token, options);
    case OpKind::signal:
      flags_.signal(operation.flag, options.piggybacks);
      return finished_.push_back({.token = token});
    case OpKind::await:
      return flags_.await({operation, token, options});
    case OpKind::combine:
    case OpKind::copy:
    case OpKind::accumulate:
      local_ = {operation, token, options};  // until the next poll: messages leave first
  }
}

// --- The memory of the node ---

/// Begins the operations that were held back, if all ranks of the node have left the call before.
/// None begins if a rank follows another plan: its data would be mixed with others'.
void MpiTransport::begin_held() {
  if (!held_back_ || !flags_.open()) return;
  if (const auto stranger = flags_.stranger()) {
    finished_.push_back({.stranger = *stranger});
    return;
  }
  held_back_ = false;
  for (const auto& [operation, token, options] : held_) post(operation, token, options);
  held_.clear();
}

bool MpiTransport::waits_for_mates() const {
  const bool accumulates = local_ && local_->operation.kind == OpKind::accumulate;
  return flags_.used() && (held_back_ || flags_.awaits() || accumulates);
}

bool MpiTransport::awaits_flags_alone() const {
  return flags_.used() && !held_back_ && flags_.awaits() && !local_ && messages_.none();
}

bool MpiTransport::may_sleep_on_flags() const { return awaits_flags_alone() && !controlled_; }

void MpiTransport::sleep(Seconds at_most) {
  if (flags_.used() && !held_back_ && flags_.awaits()) return flags_.sleep(at_most);
  std::this_thread::sleep_for(std::chrono::duration<double>(at_most));
}

/// A rank that follows another plan may never signal.
void MpiTransport::look_for_stranger() {
  if (!waits_for_mates() || !finished_.empty()) {
    looks_ = 0;
  } else if (++looks_ % kPatience == 0) {
    if (const auto stranger = flags_.stranger()) finished_.push_back({.stranger = *stranger});
  }
}

std::vector<Rank> MpiTransport::missing_mates() const {
  return waits_for_mates() ? flags_.missing() : std::vector<Rank>{};
}

std::vector<Rank> MpiTransport::mates_inside() const {
  return waits_for_mates() ? flags_.inside() : std::vector<Rank>{};
}

// --- Progress ---

bool MpiTransport::poll(Protocol& protocol) {
  begin_held();
  controlled_ = protocol.uses_control();
  const bool worked = work() && deliver(protocol);
  const bool heard = controlled_ && receive_control(protocol);
  messages_.collect();
  flags_.collect(finished_);
  look_for_stranger();
  messages_.begin_next();
  return deliver(protocol) || worked || heard;
}

bool MpiTransport::receive_control(Protocol& protocol) {
  bool heard = false;
  while (protocol.status() == Status::running) {
    const auto message = control_.receive();
    if (!message) break;
    protocol.on_control(message->from, message->words);
    heard = true;
  }
  // Control messages have no completion: their error is delivered as one of any operation.
  if (control_.error() != MPI_SUCCESS) finished_.push_back({0, control_.error(), 0});
  return heard;
}

bool MpiTransport::work() {
  if (!local_) return false;
  const Posted task = *local_;
  const auto& [kind, peer, left, right, into, flag, count] = task.operation;
  if (kind == OpKind::accumulate) {
    const auto ended = accumulate(task);
    if (!ended) return false;
    local_.reset();
    finished_.push_back(*ended);
    return true;
  }
  local_.reset();
  const int code = kind == OpKind::combine ? local_work_.combine(buffers_, op_, left, right, into)
                                           : local_work_.copy(buffers_, left, right);
  finished_.push_back({task.token, code, 0});
  return true;
}

/// Returns nothing if another rank has its turn, for which the operation waits.
std::optional<Completion> MpiTransport::accumulate(const Posted& task) {
  const auto& [kind, peer, from, to, into, flag, count] = task.operation;
  const NodeMemory::Turn turn = flags_.take_turn(flag);
  if (turn == NodeMemory::Turn::busy) {
    if (task.options.waits) return std::nullopt;
    return Completion{.token = task.token, .busy = true};
  }
  const int code = turn == NodeMemory::Turn::first
                       ? local_work_.copy(buffers_, from, to)
                       : local_work_.combine(buffers_, op_, from, to, Into::right);
  flags_.end_turn(flag, task.options.piggybacks);
  return Completion{.token = task.token, .error = code};
}

bool MpiTransport::deliver(Protocol& protocol) {
  if (finished_.empty()) return false;
  delivering_.swap(finished_);  // completions may post, and posting may fail at once
  for (const Completion& completion : delivering_) {
    if (protocol.status() == Status::failed) break;  // what failed first is the reason
    protocol.completed(completion);
    if (protocol.status() == Status::failed) error_ = completion.error;
  }
  delivering_.clear();
  return true;
}

// --- The end of a call ---

std::vector<Rank> MpiTransport::awaited() const {
  std::vector<Rank> peers = messages_.peers();
  const std::vector<Rank> mates = missing_mates();
  peers.insert(peers.end(), mates.begin(), mates.end());
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

void MpiTransport::end_call() {
  messages_.end_call();
  flags_.end();
}

bool MpiTransport::abandon() {
  local_.reset();
  finished_.clear();
  flags_.abandon();
  held_back_ = false;
  held_.clear();
  return messages_.abandon();
}

}  // namespace latecomer
