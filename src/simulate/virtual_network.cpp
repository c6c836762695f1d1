#include "simulate/virtual_network.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace latecomer {

Ticks to_ticks(Seconds seconds) { return std::llround(seconds * 1e12); }
Seconds to_seconds(Ticks ticks) { return static_cast<Seconds>(ticks) * 1e-12; }

VirtualNetwork::VirtualNetwork(const SimulationOptions& options, Rank ranks)
    : options_(options),
      ranks_(ranks),
      protocols_(static_cast<std::size_t>(ranks)),
      ports_(static_cast<std::size_t>(ranks)),
      locals_(static_cast<std::size_t>(ranks)) {
  for (Rank rank = 0; rank < ranks; ++rank) ends_.emplace_back(*this, rank);
}

void VirtualNetwork::attach(Rank rank, Protocol& protocol) {
  protocols_[static_cast<std::size_t>(rank)] = &protocol;
}

void VirtualNetwork::schedule(Ticks time, EventKind kind, Rank rank, std::size_t id) {
  queue_of_events_.push({time, events_++, kind, rank, id});
}

void VirtualNetwork::run(Simulation& result) {
  result_ = &result;
  for (Rank rank = 0; rank < ranks_; ++rank) protocol(rank).start();
  for (Rank rank = 0; rank < ranks_; ++rank) {
    schedule(to_ticks(result.arrivals[static_cast<std::size_t>(rank)]), EventKind::arrive, rank, 0);
  }
  while (!queue_of_events_.empty()) {
    now_ = queue_of_events_.top().time;
    // All that happens at one time comes before any transfer starts, so that who gets a port does
    // not depend on the order of simultaneous events.
    while (!queue_of_events_.empty() && queue_of_events_.top().time == now_) {
      const Event event = queue_of_events_.top();
      queue_of_events_.pop();
      handle(event);
    }
    start_transfers();
  }
}

void VirtualNetwork::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::arrive:
      protocol(event.rank).arrive();
      return note_exit(event.rank);
    case EventKind::eligible:
      return line_up(event.id);
    case EventKind::landed:
      return land(event.id);
    case EventKind::received:
      return deliver(event.id);
    case EventKind::local_done:
      return run_local(event.rank, static_cast<Token>(event.id));
  }
}

// --- Messages: matched by number, then eligible, then under way, then landed ---

std::uint64_t VirtualNetwork::pair_number(Rank from, Rank to) const {
  return static_cast<std::uint64_t>(from) * static_cast<std::uint64_t>(ranks_) +
         static_cast<std::uint64_t>(to);
}

VirtualNetwork::FlightId VirtualNetwork::new_flight() {
  if (free_flights_.empty()) {
    flights_.emplace_back();
    return flights_.size() - 1;
  }
  const FlightId id = free_flights_.back();
  free_flights_.pop_back();
  flights_[id] = {};
  return id;
}

VirtualNetwork::FlightId VirtualNetwork::join(Rank from, Rank to, bool sending) {
  Lane& lane = lanes_[pair_number(from, to)];
  const bool behind = sending ? lane.sends < lane.receives : lane.receives < lane.sends;
  const std::uint64_t number = sending ? lane.sends++ : lane.receives++;
  if (behind) {  // the other side posted it first
    const FlightId id = lane.open.front();
    lane.open.pop_front();
    return id;
  }
  const FlightId id = new_flight();
  Flight& flight = flights_[id];
  flight.lane = &lane;
  flight.from = from;
  flight.to = to;
  flight.number = number;
  lane.open.push_back(id);
  return id;
}

bool VirtualNetwork::eager(const Flight& flight) const {
  return flight.source.count * options_.element_bytes <= options_.network.eager_limit;
}

/// An eager message leaves when it is sent, another one when both sides have posted it.
void VirtualNetwork::posted(FlightId id, bool by_sender) {
  const Flight& flight = flights_[id];
  const bool both = flight.send_posted && flight.recv_posted;
  if (flight.send_posted && eager(flight)) {
    if (by_sender) schedule(now_, EventKind::eligible, flight.from, id);
    if (!by_sender && flight.landed) schedule(now_, EventKind::received, flight.to, id);
  } else if (both) {
    schedule(now_ + to_ticks(options_.network.handshake), EventKind::eligible, flight.from, id);
  }
}

void VirtualNetwork::line_up(FlightId id) {
  Lane& lane = *flights_[id].lane;
  lane.eligible.push_back(id);
  if (lane.eligible.size() == 1) enqueue(id);
}

void VirtualNetwork::enqueue(FlightId id) {
  const Flight& flight = flights_[id];
  const Waiting waiting{queued_++, id};
  ports(flight.from).outgoing.push_back(waiting);
  ports(flight.to).incoming.push_back(waiting);
  changed_.push_back(flight.from);
}

/// Starts what can start, in the order of the queues, whatever the ranks' numbers.
void VirtualNetwork::start_transfers() {
  candidates_.clear();
  for (const Rank rank : changed_) {
    const Ports& mine = ports(rank);
    if (mine.sending < options_.network.ports) {
      candidates_.insert(candidates_.end(), mine.outgoing.begin(), mine.outgoing.end());
    }
    if (mine.receiving < options_.network.ports) {
      candidates_.insert(candidates_.end(), mine.incoming.begin(), mine.incoming.end());
    }
  }
  changed_.clear();
  std::sort(candidates_.begin(), candidates_.end());
  candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
  for (const Waiting& candidate : candidates_) try_start(candidate);
}

void VirtualNetwork::try_start(const Waiting& waiting) {
  const Flight& flight = flights_[waiting.id];
  Ports& sender = ports(flight.from);
  Ports& receiver = ports(flight.to);
  const Count most = options_.network.ports;
  if (sender.sending == most || receiver.receiving == most) return;
  ++sender.sending;
  ++receiver.receiving;
  std::erase(sender.outgoing, waiting);
  std::erase(receiver.incoming, waiting);
  schedule(now_ + duration(flight), EventKind::landed, flight.to, waiting.id);
}

Ticks VirtualNetwork::duration(const Flight& flight) const {
  const Network& network = options_.network;
  const Seconds exact = network.transfer(flight.source.count * options_.element_bytes);
  if (network.jitter == 0) return to_ticks(exact);
  const std::uint64_t pair = pair_number(flight.from, flight.to);
  Random mixed(network.seed ^ Random(pair ^ Random(flight.number).next()).next());
  return to_ticks(exact * (1 + network.jitter * mixed.uniform()));
}

void VirtualNetwork::land(FlightId id) {
  Flight& flight = flights_[id];
  --ports(flight.from).sending;
  --ports(flight.to).receiving;
  changed_.insert(changed_.end(), {flight.from, flight.to});
  Lane& lane = *flight.lane;
  lane.eligible.pop_front();
  if (!lane.eligible.empty()) enqueue(lane.eligible.front());
  flight.landed = true;
  if (options_.trace) {
    result_->trace.push_back({flight.from, flight.to, to_seconds(now_ - duration(flight)),
                              to_seconds(now_), flight.send_token, flight.recv_token});
  }
  if (options_.memory != nullptr) {
    flight.payload = (*options_.memory)[static_cast<std::size_t>(flight.from)].read(flight.source);
  }
  const Rank from = flight.from;
  const Token token = flight.send_token;
  if (flight.recv_posted) deliver(id);
  complete(from, {token, 0, 0});
}

void VirtualNetwork::deliver(FlightId id) {
  const Flight flight = std::move(flights_[id]);
  free_flights_.push_back(id);
  if (options_.memory != nullptr) {
    (*options_.memory)[static_cast<std::size_t>(flight.to)].write(flight.target, flight.payload);
  }
  complete(flight.to, {flight.recv_token, 0, flight.plan_hash});
}

// --- Local work: one combine or copy a rank at a time ---

void VirtualNetwork::local(Rank rank, Ticks duration, Token token) {
  if (options_.trace) {
    result_->trace.push_back(
        {rank, rank, to_seconds(now_), to_seconds(now_ + duration), token, token});
  }
  schedule(now_ + duration, EventKind::local_done, rank, token);
}

void VirtualNetwork::run_local(Rank rank, Token token) {
  const Local& work = locals_[static_cast<std::size_t>(rank)];
  if (options_.memory != nullptr) {
    Memory& memory = (*options_.memory)[static_cast<std::size_t>(rank)];
    if (work.is_copy) {
      memory.write(work.right, memory.read(work.left));
    } else {
      memory.combine(work.left, work.right, work.into);
    }
  }
  complete(rank, {token, 0, 0});
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

void VirtualNetwork::End::send(const Message& message, std::uint64_t plan_hash, Token token) {
  const FlightId id = network_.join(rank_, message.peer, true);
  Flight& flight = network_.flights_[id];
  flight.source = message.data;
  flight.plan_hash = plan_hash;
  flight.send_token = token;
  flight.send_posted = true;
  network_.posted(id, true);
}

void VirtualNetwork::End::recv(const Message& message, Token token) {
  const FlightId id = network_.join(message.peer, rank_, false);
  Flight& flight = network_.flights_[id];
  flight.target = message.data;
  flight.recv_token = token;
  flight.recv_posted = true;
  network_.posted(id, false);
}

void VirtualNetwork::End::combine(const Slice& left, const Slice& right, Into into, Token token) {
  network_.locals_[static_cast<std::size_t>(rank_)] = {left, right, into, false};
  const Count bytes = left.count * network_.options_.element_bytes;
  const Seconds time = network_.options_.network.gamma * static_cast<double>(bytes);
  network_.local(rank_, to_ticks(time), token);
}

void VirtualNetwork::End::copy(const Slice& from, const Slice& to, Token token) {
  network_.locals_[static_cast<std::size_t>(rank_)] = {from, to, Into::right, true};
  network_.local(rank_, 0, token);
}

}  // namespace latecomer
