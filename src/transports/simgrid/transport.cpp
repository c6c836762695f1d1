#include "transports/simgrid/transport.hpp"

#include <algorithm>

namespace latecomer {

namespace s4u = simgrid::s4u;

namespace {

constexpr Seconds kAccuracy = 1e-9;  // SimGrid's: it complains of shorter sleeps

}  // namespace

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
  const bool shared = left.buffer == Buffer::node || right.buffer == Buffer::node;
  const Seconds takes = local_time(options_.network.gamma, left, shared);
  local_ = Local{s4u::Engine::get_clock() + takes, left, right, into, false, token};
}

void SimGridTransport::copy(const Slice& from, const Slice& to, Token token) {
  const bool shared = from.buffer == Buffer::node || to.buffer == Buffer::node;
  const Seconds takes = local_time(shared ? options_.network.local_beta : 0, from, shared);
  local_ = Local{s4u::Engine::get_clock() + takes, from, to, Into::right, true, token};
}

/// The time of local work. Work on shared memory also passes the memory of the node, which all its
/// ranks load together.
Seconds SimGridTransport::local_time(Seconds each, const Slice& slice, bool shared) const {
  const auto bytes = static_cast<double>(slice.count * options_.element_bytes);
  if (!shared || node_ == nullptr || options_.network.memory == 0) return each * bytes;
  const Seconds now = s4u::Engine::get_clock();
  node_->free = std::max(node_->free, now) + options_.network.memory * bytes;
  return std::max(each * bytes, node_->free - now);
}

void SimGridTransport::work(Protocol& protocol) {
  if (!local_) return;
  const Local task = *local_;
  local_.reset();
  if (memory_ != nullptr && task.is_copy) memory_->write(task.right, memory_->read(task.left));
  if (memory_ != nullptr && !task.is_copy) memory_->combine(task.left, task.right, task.into);
  if (task.flag >= 0) {
    increase(task.flag);
    SimGridNode::Flag& flag = node_->flag(task.flag);
    flag.held = false;
    if (!flag.accumulating.empty()) {
      const SimGridNode::Waiting next = flag.accumulating.front();
      flag.accumulating.pop_front();
      next.rank->begin_accumulate(next.use, next.token);
    }
  }
  protocol.completed({task.token});
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
    if (waiting.use.count > flag.count) return false;
    const Seconds seen = waiting.rank == this ? 0 : options_.network.local_alpha;
    waiting.rank->complete_at(s4u::Engine::get_clock() + seen, {.token = waiting.token});
    return true;
  });
}

void SimGridTransport::begin_accumulate(const FlagUse& use, Token token) {
  SimGridNode::Flag& flag = node_->flag(use.flag);
  flag.held = true;
  const bool first = flag.count == 0;
  const Network& network = options_.network;
  const Seconds takes = local_time(first ? network.local_beta : network.gamma, use.source, true);
  const Seconds end = s4u::Engine::get_clock() + takes;
  local_ = Local{end, use.source, use.target, Into::right, first, token, use.flag};
  ring();
}

void SimGridTransport::signal(const FlagUse& use, Token token) {
  increase(use.flag);
  complete_at(s4u::Engine::get_clock(), {.token = token});
}

void SimGridTransport::await(const FlagUse& use, Token token) {
  SimGridNode::Flag& flag = node_->flag(use.flag);
  if (flag.count < use.count) return flag.awaiting.push_back({this, use, token});
  complete_at(s4u::Engine::get_clock(), {.token = token});
}

void SimGridTransport::accumulate(const FlagUse& use, bool waits, Token token) {
  SimGridNode::Flag& flag = node_->flag(use.flag);
  if (!flag.held) return begin_accumulate(use, token);
  if (waits) return flag.accumulating.push_back({this, use, token});
  complete_at(s4u::Engine::get_clock(), {.token = token, .busy = true});
}

}  // namespace latecomer
