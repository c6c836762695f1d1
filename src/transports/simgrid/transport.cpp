#include "transports/simgrid/transport.hpp"

namespace latecomer {

namespace s4u = simgrid::s4u;

namespace {

constexpr Seconds kAccuracy = 1e-9;  // SimGrid's: it complains of shorter sleeps

}  // namespace

bool SimGridTransport::wait(Protocol& protocol, Seconds until) {
  const bool works = local_ && local_->end <= until;
  if (const auto done = wait_any(works ? local_->end : until)) {
    finish(*done, protocol);
    return true;
  }
  if (works) work(protocol);
  return works;
}

/// Each pair has a mailbox of its own for control messages, where one waits until the one before
/// has been taken: that keeps their order, and delays neither other pairs nor data messages.
void SimGridTransport::receive_all_control() {
  const auto ranks = static_cast<Rank>(actors_.size());
  for (Rank from = 0; from < ranks; ++from) {
    if (from != me_) receive_control(from);
  }
}

/// The index of an activity that is done; nothing: the clock reached `until` before.
std::optional<std::size_t> SimGridTransport::wait_any(Seconds until) {
  const Seconds left = until - s4u::Engine::get_clock();
  if (left < kAccuracy) return std::nullopt;
  const bool forever = until == kNever;
  if (activities_.empty()) {
    // Suspended for ever, SimGrid finds that nothing more can happen and ends the simulation.
    forever ? s4u::this_actor::suspend() : s4u::this_actor::sleep_until(until);
    return std::nullopt;
  }
  const auto done = s4u::Activity::wait_any_for(activities_, forever ? -1 : left);
  return done < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(done));
}

void SimGridTransport::finish(std::size_t index, Protocol& protocol) {
  const auto at = static_cast<std::ptrdiff_t>(index);
  const std::unique_ptr<PendingMessage> pending = std::move(pending_[index]);
  activities_.erase(activities_.begin() + at);
  pending_.erase(pending_.begin() + at);
  const Rank peer = pending->message.peer;
  switch (pending->kind) {
    case Kind::send:
      put_next(peer);
      return protocol.completed({pending->token});
    case Kind::receive:
      return protocol.completed(receive(*pending));
    case Kind::control:
      receive_control(peer);
      return protocol.on_control(peer, *pending->control);
  }
}

Completion SimGridTransport::receive(PendingMessage& pending) {
  const std::unique_ptr<Envelope> envelope(pending.envelope);
  if (memory_ != nullptr) memory_->write(pending.message.data, envelope->elements);
  return {pending.token, 0, envelope->plan_hash};
}

s4u::Mailbox* SimGridTransport::mailbox(Rank from, Rank to, const std::string& what) {
  return s4u::Mailbox::by_name(std::to_string(from) + '>' + std::to_string(to) + what);
}

/// The mailbox of a message. Both sides find the same one, since they name the same number of
/// elements.
s4u::Mailbox* SimGridTransport::mailbox(Rank from, Rank to, const Message& message) const {
  return mailbox(from, to, is_eager(message) ? " eager" : "");
}

s4u::Mailbox* SimGridTransport::control_mailbox(Rank from, Rank to) {
  return mailbox(from, to, " words");
}

void SimGridTransport::send(const Message& message, std::uint64_t plan_hash, Token token) {
  std::deque<Outgoing>& queue = leaving_[message.peer];
  queue.push_back({message, plan_hash, token});
  if (queue.size() == 1) put(queue.front());
}

void SimGridTransport::put(const Outgoing& outgoing) {
  const Message& message = outgoing.message;
  auto envelope = std::make_unique<Envelope>(Envelope{outgoing.plan_hash, {}});
  if (memory_ != nullptr) envelope->elements = memory_->read(message.data);
  s4u::Mailbox* const box = mailbox(me_, message.peer, message);
  // A message to a mailbox with a permanent receiver leaves before its receive is posted.
  if (is_eager(message)) box->set_receiver(actors_[static_cast<std::size_t>(message.peer)]);
  const auto size = static_cast<std::uint64_t>(bytes(message));
  add({Kind::send, message, outgoing.token});
  activities_.emplace_back(box->put_async(envelope.release(), size));
}

void SimGridTransport::put_next(Rank peer) {
  std::deque<Outgoing>& queue = leaving_[peer];
  queue.pop_front();
  if (!queue.empty()) put(queue.front());
}

void SimGridTransport::recv(const Message& message, Token token) {
  PendingMessage& pending = add({Kind::receive, message, token});
  activities_.emplace_back(mailbox(message.peer, me_, message)->get_async(&pending.envelope));
}

/// Adds the description of the next activity.
SimGridTransport::PendingMessage& SimGridTransport::add(const PendingMessage& pending) {
  return *pending_.emplace_back(std::make_unique<PendingMessage>(pending));
}

// --- Control messages ---

/// Receives the next control message of that rank; a receive that is never matched ends with the
/// actor.
void SimGridTransport::receive_control(Rank from) {
  PendingMessage& pending = add({Kind::control, {.peer = from, .data = {}}});
  activities_.emplace_back(control_mailbox(from, me_)->get_async(&pending.control));
}

/// The message is detached: it stays on its way when this rank has left, and no rank waits for one
/// that arrives too late.
void SimGridTransport::send_control(Rank peer, ControlWords words) {
  control_sent_.emplace_back(words.begin(), words.end());
  control_mailbox(me_, peer)->put_init(&control_sent_.back(), words.size_bytes())->detach();
}

// --- Local work ---

void SimGridTransport::combine(const Slice& left, const Slice& right, Into into, Token token) {
  const auto size = static_cast<double>(left.count * options_.element_bytes);
  const Seconds end = s4u::Engine::get_clock() + options_.network.gamma * size;
  local_ = Local{end, left, right, into, false, token};
}

void SimGridTransport::copy(const Slice& from, const Slice& to, Token token) {
  local_ = Local{s4u::Engine::get_clock(), from, to, Into::right, true, token};
}

void SimGridTransport::work(Protocol& protocol) {
  if (!local_) return;
  const Local task = *local_;
  local_.reset();
  if (memory_ != nullptr && task.is_copy) memory_->write(task.right, memory_->read(task.left));
  if (memory_ != nullptr && !task.is_copy) memory_->combine(task.left, task.right, task.into);
  protocol.completed({task.token, 0, 0});
}

}  // namespace latecomer
