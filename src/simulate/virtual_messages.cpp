// The messages of the virtual network: matched by number, then eligible, then under way, then
// landed.
#include <algorithm>

#include "base/reproducible.hpp"
#include "simulate/virtual_network.hpp"

namespace latecomer {

std::uint64_t VirtualNetwork::pair_number(Rank from, Rank to) const {
  return static_cast<std::uint64_t>(from) * static_cast<std::uint64_t>(ranks_) +
         static_cast<std::uint64_t>(to);
}

VirtualNetwork::MessageId VirtualNetwork::new_message(Rank from, Rank to) {
  if (free_messages_.empty()) {
    free_messages_.push_back(messages_.size());
    messages_.emplace_back();
  }
  const MessageId id = free_messages_.back();
  free_messages_.pop_back();
  messages_[id] = {};
  messages_[id].channel = &channels_[pair_number(from, to)];
  messages_[id].from = from;
  messages_[id].to = to;
  return id;
}

void VirtualNetwork::push(Queue& queue, MessageId id) {
  (queue.empty() ? queue.first : messages_[queue.last].next) = id;
  queue.last = id;
}

VirtualNetwork::MessageId VirtualNetwork::pop(Queue& queue) {
  const MessageId id = queue.first;
  queue.first = messages_[id].next;
  return id;
}

VirtualNetwork::MessageId VirtualNetwork::match(Rank from, Rank to, bool sending) {
  Channel& channel = channels_[pair_number(from, to)];
  const bool behind = sending ? channel.sends < channel.receives : channel.receives < channel.sends;
  const std::uint64_t number = sending ? channel.sends++ : channel.receives++;
  if (behind) return pop(channel.open);  // the other side posted it first
  const MessageId id = new_message(from, to);
  messages_[id].number = number;
  push(channel.open, id);
  return id;
}

bool VirtualNetwork::eager(const PendingMessage& message) const {
  return !message.paced &&
         message.source.count * options_.element_bytes <= options_.network.eager_limit;
}

/// An eager message leaves when it is sent, any other once both sides have posted it.
void VirtualNetwork::ready(MessageId id, bool by_sender) {
  PendingMessage& message = messages_[id];
  const bool both = message.send_posted && message.recv_posted;
  if (message.send_posted && eager(message)) {
    if (by_sender) buffer(message);
    if (by_sender) schedule(now_, EventKind::eligible, message.from, id);
    if (!by_sender && message.landed) schedule(now_, EventKind::received, message.to, id);
  } else if (both) {
    const Ticks takes = to_ticks("handshake", options_.network.handshake);
    schedule(later(now_, takes), EventKind::eligible, message.from, id);
  }
}

/// If there is room, the sender may use its memory again at once.
void VirtualNetwork::buffer(PendingMessage& message) {
  const Count bytes = message.source.count * options_.element_bytes;
  if (options_.network.buffer == 0) return;
  if (message.channel->buffered + bytes > options_.network.buffer) return;
  message.buffered = true;
  message.channel->buffered += bytes;
  read_payload(message);
  schedule(now_, EventKind::sent, message.from, message.send_token);
}

void VirtualNetwork::read_payload(PendingMessage& message) const {
  if (options_.memory == nullptr) return;
  message.payload = (*options_.memory)[static_cast<std::size_t>(message.from)].read(message.source);
}

std::size_t VirtualNetwork::port(Rank rank, Rank peer) const {
  const Rank node = link(rank);
  return static_cast<std::size_t>(node == link(peer) ? nodes_count_ + rank : node);
}

void VirtualNetwork::enqueue(MessageId id) {
  const PendingMessage& message = messages_[id];
  if (!eager(message)) ++message.channel->rendezvous;
  const std::size_t out = port(message.from, message.to);
  ports_[out].waiting.push_back(id);
  changed_.push_back(out);
}

void VirtualNetwork::start_transfers() {
  for (const std::size_t index : changed_) start_from(ports_[index]);
  changed_.clear();
}

void VirtualNetwork::start_from(Port& port) {
  auto next = port.waiting.begin();
  while (next != port.waiting.end() && port.leaving < options_.network.ports) {
    const MessageId id = *next;
    if (messages_[id].channel->leaving) {
      ++next;
      continue;
    }
    next = port.waiting.erase(next);
    ++port.leaving;
    messages_[id].channel->leaving = true;
    start(id);
  }
}

void VirtualNetwork::start(MessageId id) {
  PendingMessage& message = messages_[id];
  const Ticks takes = duration(message);
  auto& ports = ports_[port(message.to, message.from)].free;
  Ticks& free = *std::min_element(ports.begin(), ports.end());
  free = later(std::max(free, now_), takes);
  if (!message.buffered && message.control.empty()) read_payload(message);
  if (options_.trace) trace(message, free);
  schedule(later(now_, takes), EventKind::left, message.from, id);
  schedule(free, EventKind::landed, message.to, id);
}

/// The receiver's part is noted when the message is delivered.
void VirtualNetwork::trace(PendingMessage& message, Ticks end) {
  message.trace = result_->trace.size();
  TraceEntry& entry = result_->trace.emplace_back();
  entry.kind = message.control.empty() ? TraceEntry::Kind::message : TraceEntry::Kind::control;
  entry.from = message.from;
  entry.to = message.to;
  entry.begin = to_seconds(now_);
  entry.end = entry.taken = to_seconds(end);
  entry.sender_operation = message.send_token;
  entry.source = message.source;
  entry.control = message.control;
}

/// True if its two ranks send each other long messages at the same time.
bool VirtualNetwork::exchanges(const PendingMessage& message) {
  if (options_.network.exchange == 1 || eager(message)) return false;
  return channels_[pair_number(message.to, message.from)].rendezvous > 0;
}

/// The time of a message between nodes, without the part that both links still pass at once.
Seconds VirtualNetwork::on_link(const PendingMessage& message, Count bytes) {
  const Network& network = options_.network;
  const double at_once = TokenBucket::take(ports_[port(message.from, message.to)].out,
                                           ports_[port(message.to, message.from)].in, network, now_,
                                           static_cast<double>(bytes));
  return network.alpha + network.beta * (static_cast<double>(bytes) - at_once);
}

Ticks VirtualNetwork::duration(const PendingMessage& message) {
  const Network& network = options_.network;
  const Count bytes = message.source.count * options_.element_bytes +
                      static_cast<Count>(message.piggybacked.size()) +
                      static_cast<Count>(message.control.size() * sizeof(std::uint64_t));
  const bool local = link(message.from) == link(message.to);
  Seconds exact = local ? network.local_alpha + network.local_beta * static_cast<double>(bytes)
                        : on_link(message, bytes);
  if (exchanges(message)) exact *= network.exchange;
  if (network.jitter == 0) return to_ticks(kTransfer, exact);
  const std::uint64_t pair = pair_number(message.from, message.to);
  Random mixed(network.seed ^ Random(pair ^ Random(message.number).next()).next());
  return to_ticks(kTransfer, exact * (1 + network.jitter * mixed.uniform()));
}

/// Ends a message on its sender's side.
void VirtualNetwork::leave(MessageId id) {
  const PendingMessage& message = messages_[id];
  const std::size_t out = port(message.from, message.to);
  --ports_[out].leaving;
  changed_.push_back(out);
  message.channel->leaving = false;
  if (!eager(message)) --message.channel->rendezvous;
  if (message.buffered) {
    message.channel->buffered -= message.source.count * options_.element_bytes;
  } else if (message.control.empty()) {
    complete(message.from, {message.send_token, 0, 0});
  }
}

void VirtualNetwork::land(MessageId id) {
  messages_[id].landed = true;
  if (!messages_[id].control.empty()) return deliver_control(*messages_[id].channel);
  if (messages_[id].recv_posted) deliver(id);
}

void VirtualNetwork::deliver(MessageId id) {
  const PendingMessage message = std::move(messages_[id]);
  free_messages_.push_back(id);
  if (options_.memory != nullptr) {
    (*options_.memory)[static_cast<std::size_t>(message.to)].write(message.target, message.payload);
  }
  if (!message.piggybacked.empty()) {
    options_.piggybacks[static_cast<std::size_t>(message.to)]->unpack(message.piggybacked.data(),
                                                                      message.piggybacked.size());
  }
  if (options_.trace) {
    TraceEntry& entry = result_->trace[message.trace];
    entry.taken = to_seconds(now_);
    entry.receiver_operation = message.recv_token;
    entry.target = message.target;
  }
  complete(message.to,
           {message.recv_token, 0, plan_hashes_[static_cast<std::size_t>(message.from)]});
}

/// Delivers control messages in the order of sending, also if several ports take them in side by
/// side.
void VirtualNetwork::deliver_control(Channel& channel) {
  while (!channel.control.empty() && messages_[channel.control.first].landed) {
    const MessageId id = pop(channel.control);
    const PendingMessage message = std::move(messages_[id]);
    free_messages_.push_back(id);
    protocol(message.to).on_control(message.from, message.control);
    note_exit(message.to);
  }
}

// --- What a rank posts ---

void VirtualNetwork::send(Rank rank, const Posted& posted) {
  const MessageId id = match(rank, posted.operation.peer, true);
  PendingMessage& pending = messages_[id];
  pending.source = posted.operation.source;
  pending.paced = posted.options.paced;
  pending.send_token = posted.token;
  if (posted.options.piggybacks && !options_.piggybacks.empty()) {
    options_.piggybacks[static_cast<std::size_t>(rank)]->pack(pending.piggybacked);
  }
  pending.send_posted = true;
  ready(id, true);
}

void VirtualNetwork::receive(Rank rank, const Posted& posted) {
  const MessageId id = match(posted.operation.peer, rank, false);
  PendingMessage& pending = messages_[id];
  pending.target = posted.operation.target;
  pending.recv_token = posted.token;
  pending.recv_posted = true;
  ready(id, false);
}

/// A control message is like a short message: it takes the ports of both sides, one after another.
void VirtualNetwork::send_control(Rank rank, Rank peer, ControlWords words) {
  const MessageId id = new_message(rank, peer);
  PendingMessage& pending = messages_[id];
  pending.control.assign(words.begin(), words.end());
  pending.number = events_;
  push(pending.channel->control, id);
  schedule(now_, EventKind::eligible, rank, id);
}

}  // namespace latecomer
