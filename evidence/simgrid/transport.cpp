#include "transport.hpp"

#include <algorithm>

namespace latecomer {

namespace s4u = simgrid::s4u;

namespace {

constexpr Seconds kAccuracy = 1e-9;  // SimGrid's: it complains of shorter sleeps

}  // namespace

void SimGridTransport::post(const Operation& operation, Token token, PostOptions options) {
  const Posted posted{operation, token, options};
  switch (operation.kind) {
    case OpKind::arrive:
      return;
    case OpKind::send:
      return send(posted);
    case OpKind::recv:
      return post_receive(posted);
    case OpKind::combine:
      return begin_local(posted, false);
    case OpKind::copy:
      return begin_local(posted, true);
    case OpKind::signal:
      increase(operation.flag);
      return complete_at(s4u::Engine::get_clock(), {.token = token});
    case OpKind::await:
      return await(posted);
    case OpKind::accumulate:
      return accumulate(posted);
  }
}

bool SimGridTransport::wait(Protocol& protocol, Seconds until) {
  const bool works = local_ && local_->end <= until;
  const Seconds stop = std::min(works ? local_->end : until, due_.empty() ? kNever : due_[0].time);
  if (const auto done = wait_any(stop)) {
    // The last one is the bell: a mate has changed what is to be waited for.
    if (*done < pending_.size()) finish(*done, protocol);
    return true;
  }
  if (deliver(stop, protocol)) return true;
  if (works) work(protocol);
  return works;
}

/// Delivers an operation on a flag that ends at `until` or before.
bool SimGridTransport::deliver(Seconds until, Protocol& protocol) {
  if (due_.empty() || due_[0].time > until) return false;
  const Completion completion = due_[0].completion;
  due_.erase(due_.begin());
  protocol.completed(completion);
  return true;
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
  if (node_ != nullptr) return wait_any_or_bell(forever ? -1 : left);
  if (activities_.empty()) {
    // Suspended for ever, SimGrid finds that nothing more can happen and ends the simulation.
    forever ? s4u::this_actor::suspend() : s4u::this_actor::sleep_until(until);
    return std::nullopt;
  }
  const auto done = s4u::Activity::wait_any_for(activities_, forever ? -1 : left);
  return done < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(done));
}

/// Like SimGrid's own, but a mate may end the wait: then the index is one beyond the messages. The
/// bell is work that a mate lets go on. SimGrid forgets work that does so at the instant when it
/// was suspended, so this rank first sleeps as briefly as it can.
std::optional<std::size_t> SimGridTransport::wait_any_or_bell(Seconds timeout) {
  if (!bell_) {
    bell_ = s4u::this_actor::exec_async(1);
    bell_->suspend();
    s4u::this_actor::sleep_for(kAccuracy);
    return pending_.size();
  }
  activities_.emplace_back(bell_);
  waits_ = true;
  const auto done = s4u::Activity::wait_any_for(activities_, timeout);
  waits_ = false;
  activities_.pop_back();
  if (done == static_cast<ssize_t>(pending_.size())) bell_ = nullptr;
  return done < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(done));
}

void SimGridTransport::finish(std::size_t index, Protocol& protocol) {
  const auto at = static_cast<std::ptrdiff_t>(index);
  const std::unique_ptr<PendingMessage> pending = std::move(pending_[index]);
  activities_.erase(activities_.begin() + at);
  pending_.erase(pending_.begin() + at);
  const Rank peer = pending->peer;
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
  if (memory_ != nullptr) memory_->write(pending.target, envelope->elements);
  return {pending.token, 0, envelope->plan_hash};
}

s4u::Mailbox* SimGridTransport::mailbox(Rank from, Rank to, const std::string& what) {
  return s4u::Mailbox::by_name(std::to_string(from) + '>' + std::to_string(to) + what);
}

/// The mailbox of a message. Both sides find the same one, since they name the same number of
/// elements.
s4u::Mailbox* SimGridTransport::mailbox(Rank from, Rank to, const Posted& message) const {
  return mailbox(from, to, is_eager(message) ? " eager" : "");
}

s4u::Mailbox* SimGridTransport::control_mailbox(Rank from, Rank to) {
  return mailbox(from, to, " words");
}

void SimGridTransport::send(const Posted& message) {
  std::deque<Posted>& queue = leaving_[message.operation.peer];
  queue.push_back(message);
  if (queue.size() == 1) put(queue.front());
}

void SimGridTransport::put(const Posted& message) {
  const Rank peer = message.operation.peer;
  auto envelope = std::make_unique<Envelope>(Envelope{plan_hash_, {}});
  if (memory_ != nullptr) envelope->elements = memory_->read(message.operation.source);
  s4u::Mailbox* const box = mailbox(me_, peer, message);
  // A message to a mailbox with a permanent receiver leaves before its receive is posted.
  if (is_eager(message)) box->set_receiver(actors_[static_cast<std::size_t>(peer)]);
  const auto size = static_cast<std::uint64_t>(bytes(message));
  add({Kind::send, peer, {}, message.token});
  activities_.emplace_back(box->put_async(envelope.release(), size));
}

void SimGridTransport::put_next(Rank peer) {
  std::deque<Posted>& queue = leaving_[peer];
  queue.pop_front();
  if (!queue.empty()) put(queue.front());
}

void SimGridTransport::post_receive(const Posted& message) {
  const auto& [operation, token, options] = message;
  PendingMessage& pending = add({Kind::receive, operation.peer, operation.target, token});
  activities_.emplace_back(mailbox(operation.peer, me_, message)->get_async(&pending.envelope));
}

/// Adds the description of the next activity.
SimGridTransport::PendingMessage& SimGridTransport::add(const PendingMessage& pending) {
  return *pending_.emplace_back(std::make_unique<PendingMessage>(pending));
}

// --- Control messages ---

/// Receives the next control message of that rank; a receive that is never matched ends with the
/// actor.
void SimGridTransport::receive_control(Rank from) {
  PendingMessage& pending = add({Kind::control, from, {}});
  activities_.emplace_back(control_mailbox(from, me_)->get_async(&pending.control));
}

/// The message is detached: it stays on its way when this rank has left, and no rank waits for one
/// that arrives too late.
void SimGridTransport::send_control(Rank peer, ControlWords words) {
  control_sent_.emplace_back(words.begin(), words.end());
  control_mailbox(me_, peer)->put_init(&control_sent_.back(), words.size_bytes())->detach();
}

// --- Local work ---

/// Work on shared memory also passes the memory of the node, which all its ranks load together.
void SimGridTransport::begin_local(const Posted& posted, bool copies) {
  const Slice& from = posted.operation.source;
  const bool shared = from.buffer == Buffer::node || posted.operation.target.buffer == Buffer::node;
  const Network& network = options_.network;
  const Seconds each = !copies ? network.gamma : shared ? network.local_beta : 0;
  const auto bytes = static_cast<double>(from.count * options_.element_bytes);
  const Seconds now = s4u::Engine::get_clock();
  Seconds takes = each * bytes;
  if (shared && node_ != nullptr && network.memory != 0) {
    node_->free = std::max(node_->free, now) + network.memory * bytes;
    takes = std::max(takes, node_->free - now);
  }
  local_ = Local{posted, copies, now + takes};
}

void SimGridTransport::work(Protocol& protocol) {
  if (!local_) return;
  const auto [posted, copies, end] = *local_;
  local_.reset();
  const auto& [kind, peer, source, target, into, index, count] = posted.operation;
  if (memory_ != nullptr && copies) memory_->write(target, memory_->read(source));
  if (memory_ != nullptr && !copies) memory_->combine(source, target, into);
  if (kind == OpKind::accumulate) {
    increase(index);
    SimGridNode::Flag& flag = node_->flag(index);
    flag.held = false;
    if (!flag.accumulating.empty()) {
      const SimGridNode::Waiting next = flag.accumulating.front();
      flag.accumulating.pop_front();
      next.rank->begin_accumulate(next.posted);
    }
  }
  protocol.completed({posted.token});
}

// --- The memory that the ranks of a node share ---

/// Notes the end of an operation on a flag, perhaps of another rank, which may be waiting.
void SimGridTransport::complete_at(Seconds time, const Completion& completion) {
  const auto after = std::ranges::upper_bound(due_, time, {}, &Due::time);
  due_.insert(after, {time, completion});
  ring();
}

/// Wakes the rank's actor, if it waits.
void SimGridTransport::ring() {
  if (!waits_) return;
  waits_ = false;
  bell_->resume();
}

void SimGridTransport::increase(std::int32_t index) {
  SimGridNode::Flag& flag = node_->flag(index);
  ++flag.count;
  std::erase_if(flag.awaiting, [&](const SimGridNode::Waiting& waiting) {
    if (waiting.posted.operation.count > flag.count) return false;
    const Seconds seen = waiting.rank == this ? 0 : options_.network.local_alpha;
    waiting.rank->complete_at(s4u::Engine::get_clock() + seen, {.token = waiting.posted.token});
    return true;
  });
}

void SimGridTransport::begin_accumulate(const Posted& posted) {
  SimGridNode::Flag& flag = node_->flag(posted.operation.flag);
  flag.held = true;
  begin_local(posted, flag.count == 0);
  ring();
}

void SimGridTransport::await(const Posted& posted) {
  SimGridNode::Flag& flag = node_->flag(posted.operation.flag);
  if (flag.count < posted.operation.count) return flag.awaiting.push_back({this, posted});
  complete_at(s4u::Engine::get_clock(), {.token = posted.token});
}

void SimGridTransport::accumulate(const Posted& posted) {
  SimGridNode::Flag& flag = node_->flag(posted.operation.flag);
  if (!flag.held) return begin_accumulate(posted);
  if (posted.options.waits) return flag.accumulating.push_back({this, posted});
  complete_at(s4u::Engine::get_clock(), {.token = posted.token, .busy = true});
}

}  // namespace latecomer
