#include "simulate/virtual_network.hpp"

#include <algorithm>

#include "base/interruption.hpp"
#include "base/random.hpp"

namespace latecomer {
namespace {

// An event of a flag: the token, and whether piggyback data are taken or an accumulate was refused.
constexpr std::size_t kTakes = 1;
constexpr std::size_t kBusy = 2;
std::size_t flag_event(Token token, std::size_t bits) { return std::size_t{token} << 2 | bits; }

}  // namespace

VirtualNetwork::VirtualNetwork(const SimulationOptions& options, const Placement& nodes)
    : options_(options),
      ranks_(static_cast<Rank>(nodes.size())),
      nodes_(nodes),
      links_(options.placement.empty() && shares_nodes(nodes) ? nodes : options.placement),
      protocols_(nodes.size()),
      plan_hashes_(nodes.size()),
      shared_(nodes.size()),
      locals_(nodes.size()) {
  check_placement(links_, ranks_);
  for (Rank rank = 0; rank < ranks_; ++rank) nodes_count_ = std::max(nodes_count_, link(rank) + 1);
  ports_.resize(static_cast<std::size_t>(nodes_count_) + nodes.size());
  const auto each = static_cast<std::size_t>(options.network.ports);
  for (Port& port : ports_) port.free.assign(each, 0);
  for (Rank rank = 0; rank < ranks_; ++rank) transports_.emplace_back(*this, rank);
}

void VirtualNetwork::attach(Rank rank, Protocol& protocol, std::uint64_t plan_hash) {
  protocols_[static_cast<std::size_t>(rank)] = &protocol;
  plan_hashes_[static_cast<std::size_t>(rank)] = plan_hash;
}

void VirtualNetwork::schedule(Ticks time, EventKind kind, Rank rank, std::size_t id) {
  queue_of_events_.push({time, events_++, kind, rank, id});
}

void VirtualNetwork::run(Simulation& result) {
  result_ = &result;
  for (Rank rank = 0; rank < ranks_; ++rank) protocol(rank).start();
  for (Rank rank = 0; rank < ranks_; ++rank) {
    const Seconds arrival = result.arrivals[static_cast<std::size_t>(rank)];
    schedule(to_ticks("arrival of rank " + std::to_string(rank), arrival), EventKind::arrive, rank,
             0);
  }
  while (!queue_of_events_.empty()) {
    now_ = queue_of_events_.top().time;
    // All events of one time are handled before any transfer starts, so that the order of
    // simultaneous events does not decide which message gets a port.
    while (!queue_of_events_.empty() && queue_of_events_.top().time == now_) {
      const Event event = queue_of_events_.top();
      queue_of_events_.pop();
      handle(event);
    }
    start_transfers();
  }
}

void VirtualNetwork::handle(const Event& event) {
  interruption_point();
  switch (event.kind) {
    case EventKind::arrive:
      protocol(event.rank).arrive();
      return note_exit(event.rank);
    case EventKind::eligible:
      return enqueue(event.id);
    case EventKind::sent:
      return complete(event.rank, {static_cast<Token>(event.id), 0, 0});
    case EventKind::left:
      return leave(event.id);
    case EventKind::landed:
      return land(event.id);
    case EventKind::received:
      return deliver(event.id);
    case EventKind::flag:
      if ((event.id & kTakes) != 0) take_piggybacked(event.rank);
      return complete(event.rank, {.token = static_cast<Token>(event.id >> 2),
                                   .busy = (event.id & kBusy) != 0});
    case EventKind::local_done:
      return run_local(event.rank, static_cast<Token>(event.id));
    case EventKind::memory:
      return end_memory_work(event.rank, event.id);
  }
}

// --- Messages: matched by number, then eligible, then under way, then landed ---

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

VirtualNetwork::MessageId VirtualNetwork::match(Rank from, Rank to, bool sending) {
  Channel& channel = channels_[pair_number(from, to)];
  const bool behind = sending ? channel.sends < channel.receives : channel.receives < channel.sends;
  const std::uint64_t number = sending ? channel.sends++ : channel.receives++;
  if (behind) {  // the other side posted it first
    const MessageId id = channel.open.front();
    channel.open.pop_front();
    return id;
  }
  const MessageId id = new_message(from, to);
  messages_[id].number = number;
  channel.open.push_back(id);
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
  while (!channel.control.empty() && messages_[channel.control.front()].landed) {
    const MessageId id = channel.control.front();
    channel.control.pop_front();
    const PendingMessage message = std::move(messages_[id]);
    free_messages_.push_back(id);
    protocol(message.to).on_control(message.from, message.control);
    note_exit(message.to);
  }
}

// --- Local work: one combine or copy a rank at a time ---

/// Begins local work. Work on shared memory also loads the memory of the node, with all ranks of
/// the node. Copies within a rank's own memory count as nothing.
void VirtualNetwork::begin_local(Rank rank, const Posted& posted, bool copies) {
  locals_[static_cast<std::size_t>(rank)] = {posted, copies};
  const auto& [kind, peer, left, right, into, flag, count] = posted.operation;
  const Token token = posted.token;
  if (options_.trace) trace_local(rank, token);
  const Network& network = options_.network;
  const bool shared = left.buffer == Buffer::node || right.buffer == Buffer::node;
  const Seconds each = !copies ? network.gamma : shared ? network.local_beta : 0;
  const auto bytes = static_cast<double>(left.count * options_.element_bytes);
  const Ticks own = to_ticks("time of local work", each * bytes);
  const Seconds memory = shared ? network.memory : 0;
  if (memory == 0 || bytes == 0) {
    return schedule(later(now_, own), EventKind::local_done, rank, token);
  }
  const Ticks alone = std::max(own, to_ticks("time of local work", memory * bytes));
  const double share = std::min(1.0, memory / std::max(each, memory));
  shared_memory(rank).load.begin(now_, alone, share, {rank, token});
  schedule_memory(rank);
}

void VirtualNetwork::schedule_memory(Rank rank) {
  const MemoryLoad& load = shared_memory(rank).load;
  if (load.idle()) return;
  schedule(later(now_, load.next_end() - now_), EventKind::memory, rank, load.changes());
}

void VirtualNetwork::end_memory_work(Rank rank, std::uint64_t change) {
  MemoryLoad& load = shared_memory(rank).load;
  if (load.changes() != change) return;  // other work has begun, and moved the end
  const std::vector<MemoryLoad::Work> ended = load.end(now_);
  schedule_memory(rank);
  for (const MemoryLoad::Work& work : ended) run_local(work.rank, work.token);
}

void VirtualNetwork::trace_local(Rank rank, Token token) {
  Local& work = locals_[static_cast<std::size_t>(rank)];
  const Operation& operation = work.posted.operation;
  work.trace = result_->trace.size();
  TraceEntry& entry = result_->trace.emplace_back();
  entry.kind = work.copies           ? TraceEntry::Kind::copy
               : has_flag(operation) ? TraceEntry::Kind::accumulate
                                     : TraceEntry::Kind::combine;
  entry.flag = operation.flag;
  entry.from = entry.to = rank;
  entry.begin = to_seconds(now_);
  entry.sender_operation = entry.receiver_operation = token;
  entry.source = operation.source;
  entry.target = operation.target;
  entry.into = operation.into;
}

void VirtualNetwork::run_local(Rank rank, Token token) {
  const Local work = locals_[static_cast<std::size_t>(rank)];
  const Operation& operation = work.posted.operation;
  if (options_.trace) {
    TraceEntry& entry = result_->trace[work.trace];
    entry.end = entry.taken = to_seconds(now_);
  }
  if (options_.memory != nullptr) {
    Memory& memory = (*options_.memory)[static_cast<std::size_t>(rank)];
    if (work.copies) {
      memory.write(operation.target, memory.read(operation.source));
    } else {
      memory.combine(operation.source, operation.target, operation.into);
    }
  }
  if (has_flag(operation)) end_accumulate(rank, work.posted);
  complete(rank, {.token = token});
}

// --- The memory that the ranks of a node share ---

VirtualNetwork::Flag& VirtualNetwork::flag(Rank rank, std::int32_t index) {
  auto& flags = shared_memory(rank).flags;
  if (flags.size() <= static_cast<std::size_t>(index)) {
    flags.resize(static_cast<std::size_t>(index) + 1);
  }
  return flags[static_cast<std::size_t>(index)];
}

void VirtualNetwork::increase(Rank rank, std::int32_t index, bool piggybacks) {
  if (piggybacks && !options_.piggybacks.empty()) {
    auto& [from, data] = shared_memory(rank).piggybacked.emplace_back();
    from = rank;
    options_.piggybacks[static_cast<std::size_t>(rank)]->pack(data);
  }
  Flag& counted = flag(rank, index);
  ++counted.count;
  std::erase_if(counted.awaiting, [&](const Flag::Waiting& waiting) {
    const auto& [operation, token, options] = waiting.posted;
    if (operation.count > counted.count) return false;
    const Seconds takes = waiting.rank == rank ? 0 : options_.network.local_alpha;
    const Ticks seen = later(now_, to_ticks("local alpha", takes));
    schedule(seen, EventKind::flag, waiting.rank,
             flag_event(token, options.piggybacks ? kTakes : 0));
    if (options_.trace) {
      TraceEntry& entry = result_->trace.emplace_back();
      entry.kind = TraceEntry::Kind::flag;
      entry.from = rank;
      entry.to = waiting.rank;
      entry.begin = to_seconds(now_);
      entry.end = entry.taken = to_seconds(seen);
      entry.flag = index;
    }
    return true;
  });
}

void VirtualNetwork::take_piggybacked(Rank rank) {
  if (options_.piggybacks.empty()) return;
  for (const auto& [from, data] : shared_memory(rank).piggybacked) {
    if (from == rank) continue;
    options_.piggybacks[static_cast<std::size_t>(rank)]->unpack(data.data(), data.size());
  }
}

void VirtualNetwork::await(Rank rank, const Posted& posted) {
  Flag& awaited = flag(rank, posted.operation.flag);
  if (awaited.count < posted.operation.count) return awaited.awaiting.push_back({rank, posted});
  schedule(now_, EventKind::flag, rank,
           flag_event(posted.token, posted.options.piggybacks ? kTakes : 0));
}

void VirtualNetwork::accumulate(Rank rank, const Posted& posted) {
  Flag& counting = flag(rank, posted.operation.flag);
  if (!counting.held) return begin_accumulate(rank, posted);
  if (posted.options.waits) return counting.accumulating.push_back({rank, posted});
  schedule(now_, EventKind::flag, rank, flag_event(posted.token, kBusy));
}

void VirtualNetwork::begin_accumulate(Rank rank, const Posted& posted) {
  Flag& counting = flag(rank, posted.operation.flag);
  counting.held = true;
  begin_local(rank, posted, counting.count == 0);
}

void VirtualNetwork::end_accumulate(Rank rank, const Posted& posted) {
  const std::int32_t index = posted.operation.flag;
  increase(rank, index, posted.options.piggybacks);
  Flag& counted = flag(rank, index);
  counted.held = false;
  if (counted.accumulating.empty()) return;
  const Flag::Waiting next = counted.accumulating.front();
  counted.accumulating.pop_front();
  begin_accumulate(next.rank, next.posted);
}

void VirtualNetwork::complete(Rank rank, const Completion& completion) {
  protocol(rank).completed(completion);
  note_exit(rank);
}

void VirtualNetwork::note_exit(Rank rank) {
  Seconds& exit = result_->exits[static_cast<std::size_t>(rank)];
  if (exit < 0 && protocol(rank).status() == Status::done) exit = to_seconds(now_);
}

// --- The transport of one rank ---

void VirtualNetwork::post(Rank rank, const Posted& posted) {
  switch (posted.operation.kind) {
    case OpKind::arrive:
      return;
    case OpKind::send:
      return send(rank, posted);
    case OpKind::recv:
      return receive(rank, posted);
    case OpKind::combine:
      return begin_local(rank, posted, false);
    case OpKind::copy:
      return begin_local(rank, posted, true);
    case OpKind::signal:
      increase(rank, posted.operation.flag, posted.options.piggybacks);
      return schedule(now_, EventKind::flag, rank, flag_event(posted.token, 0));
    case OpKind::await:
      return await(rank, posted);
    case OpKind::accumulate:
      return accumulate(rank, posted);
  }
}

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
  pending.channel->control.push_back(id);
  schedule(now_, EventKind::eligible, rank, id);
}

}  // namespace latecomer
