#include "simulate/virtual_network.hpp"

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
      return enqueue(event.id);
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

VirtualNetwork::FlightId VirtualNetwork::join(Rank from, Rank to, bool sending) {
  Lane& pair = lane(from, to);
  const std::uint64_t number = sending ? pair.sends++ : pair.receives++;
  const auto [entry, added] = pair.open.try_emplace(number, flights_.size());
  if (added && !free_flights_.empty()) {
    entry->second = free_flights_.back();
    free_flights_.pop_back();
    flights_[entry->second] = {};
  } else if (added) {
    flights_.emplace_back();
  }
  const FlightId id = entry->second;
  flights_[id].from = from;
  flights_[id].to = to;
  flights_[id].number = number;
  if (!added) pair.open.erase(entry);  // both sides have posted
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

void VirtualNetwork::enqueue(FlightId id) {
  const Flight& flight = flights_[id];
  const std::uint64_t number = queued_++;
  queue_[number] = id;
  ports(flight.from).outgoing.insert(number);
  ports(flight.to).incoming.insert(number);
  changed_.insert(flight.from);
}

void VirtualNetwork::start_transfers() {
  while (!changed_.empty()) {
    const Rank rank = *changed_.begin();
    changed_.erase(changed_.begin());
    if (ports(rank).sending < options_.network.ports) try_queue(ports(rank).outgoing);
    if (ports(rank).receiving < options_.network.ports) try_queue(ports(rank).incoming);
  }
}

void VirtualNetwork::try_queue(const std::set<std::uint64_t>& waiting) {
  for (auto next = waiting.begin(); next != waiting.end();) {
    const std::uint64_t queued = *next++;  // try_start may take it out of the queue
    if (try_start(queued) && options_.network.ports == 1) return;
  }
}

bool VirtualNetwork::try_start(std::uint64_t queued) {
  const FlightId id = queue_.at(queued);
  const Flight& flight = flights_[id];
  Ports& sender = ports(flight.from);
  Ports& receiver = ports(flight.to);
  const Count most = options_.network.ports;
  Lane& pair = lane(flight.from, flight.to);
  if (pair.busy || sender.sending == most || receiver.receiving == most) return false;
  pair.busy = true;
  ++sender.sending;
  ++receiver.receiving;
  sender.outgoing.erase(queued);
  receiver.incoming.erase(queued);
  queue_.erase(queued);
  schedule(now_ + duration(flight), EventKind::landed, flight.to, id);
  return true;
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
  lane(flight.from, flight.to).busy = false;
  --ports(flight.from).sending;
  --ports(flight.to).receiving;
  changed_.insert({flight.from, flight.to});
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
  const Flight flight = flights_[id];
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
