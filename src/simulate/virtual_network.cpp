#include "simulate/virtual_network.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "base/parse.hpp"
#include "base/random.hpp"

namespace latecomer {
namespace {

constexpr std::string_view kTransfer = "time of a message (alpha + bytes x beta)";
constexpr Seconds kLongest = 1e6;
// A longest time before the last tick, so that no sum that is compared with it wraps.
constexpr Ticks kEnd = 8'000'000'000'000'000'000;

/// Throws Error at the end of the clock.
Ticks later(Ticks time, Ticks by) {
  if (time <= kEnd - by) return time + by;
  throw Error("end of the simulated time", format_number(to_seconds(time) + to_seconds(by)) + "s",
              "8e6 seconds at most, with shorter messages or fewer of them");
}

}  // namespace

Ticks to_ticks(std::string_view what, Seconds seconds) {
  if (std::abs(seconds) <= kLongest) return std::llround(seconds * 1e12);
  // Also for what is not a number.
  throw Error(std::string(what), format_number(seconds) + "s",
              "a time of at most 1e6 seconds, the longest that is simulated");
}

Seconds to_seconds(Ticks ticks) { return static_cast<Seconds>(ticks) * 1e-12; }

VirtualNetwork::VirtualNetwork(const SimulationOptions& options, Rank ranks)
    : options_(options),
      ranks_(ranks),
      protocols_(static_cast<std::size_t>(ranks)),
      locals_(static_cast<std::size_t>(ranks)) {
  const Rank nodes = options.network.node(ranks - 1) + 1;
  ports_.resize(static_cast<std::size_t>(nodes) + static_cast<std::size_t>(ranks));
  const auto each = static_cast<std::size_t>(options.network.ports);
  for (Port& port : ports_) port.free.assign(each, 0);
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
    const Seconds arrival = result.arrivals[static_cast<std::size_t>(rank)];
    schedule(to_ticks("arrival of rank " + std::to_string(rank), arrival), EventKind::arrive, rank,
             0);
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
  interruption_point();
  switch (event.kind) {
    case EventKind::arrive:
      protocol(event.rank).arrive();
      return note_exit(event.rank);
    case EventKind::eligible:
      return line_up(event.id);
    case EventKind::left:
      return leave(event.id);
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

VirtualNetwork::FlightId VirtualNetwork::new_flight(Rank from, Rank to) {
  if (free_flights_.empty()) {
    free_flights_.push_back(flights_.size());
    flights_.emplace_back();
  }
  const FlightId id = free_flights_.back();
  free_flights_.pop_back();
  flights_[id] = {};
  flights_[id].lane = &lanes_[pair_number(from, to)];
  flights_[id].from = from;
  flights_[id].to = to;
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
  const FlightId id = new_flight(from, to);
  flights_[id].number = number;
  lane.open.push_back(id);
  return id;
}

bool VirtualNetwork::eager(const Flight& flight) const {
  return !flight.paced &&
         flight.source.count * options_.element_bytes <= options_.network.eager_limit;
}

/// An eager message leaves when it is sent, another one when both sides have posted it.
void VirtualNetwork::posted(FlightId id, bool by_sender) {
  const Flight& flight = flights_[id];
  const bool both = flight.send_posted && flight.recv_posted;
  if (flight.send_posted && eager(flight)) {
    if (by_sender) schedule(now_, EventKind::eligible, flight.from, id);
    if (!by_sender && flight.landed) schedule(now_, EventKind::received, flight.to, id);
  } else if (both) {
    const Ticks takes = to_ticks("handshake", options_.network.handshake);
    schedule(later(now_, takes), EventKind::eligible, flight.from, id);
  }
}

std::size_t VirtualNetwork::port(Rank rank, Rank peer) const {
  const Network& network = options_.network;
  const Rank node = network.node(rank);
  const bool local = node == network.node(peer);
  return static_cast<std::size_t>(local ? network.node(ranks_ - 1) + 1 + rank : node);
}

void VirtualNetwork::line_up(FlightId id) {
  const Flight& flight = flights_[id];
  if (!eager(flight)) ++flight.lane->rendezvous;
  const std::size_t out = port(flight.from, flight.to);
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
    const FlightId id = *next;
    if (flights_[id].lane->leaving) {
      ++next;
      continue;
    }
    next = port.waiting.erase(next);
    ++port.leaving;
    flights_[id].lane->leaving = true;
    start(id);
  }
}

void VirtualNetwork::start(FlightId id) {
  Flight& flight = flights_[id];
  const Ticks takes = duration(flight);
  auto& ports = ports_[port(flight.to, flight.from)].free;
  Ticks& free = *std::min_element(ports.begin(), ports.end());
  free = later(std::max(free, now_), takes);
  if (options_.memory != nullptr && !flight.word) {
    flight.payload = (*options_.memory)[static_cast<std::size_t>(flight.from)].read(flight.source);
  }
  if (options_.trace && !flight.word) {
    result_->trace.push_back({flight.from, flight.to, to_seconds(now_), to_seconds(free),
                              flight.send_token, flight.recv_token});
  }
  schedule(later(now_, takes), EventKind::left, flight.from, id);
  schedule(free, EventKind::landed, flight.to, id);
}

/// Whether its two ranks send each other long messages at the same time.
bool VirtualNetwork::exchanges(const Flight& flight) {
  if (options_.network.exchange == 1 || eager(flight)) return false;
  return lanes_[pair_number(flight.to, flight.from)].rendezvous > 0;
}

/// Bytes; takes note of what has come back.
double VirtualNetwork::left_of_burst(Bucket& bucket) const {
  const Network& network = options_.network;
  const Ticks rested = std::max<Ticks>(0, now_ - bucket.until);
  bucket.spent = std::max(0.0, bucket.spent - to_seconds(rested) / network.beta);
  bucket.until = std::max(bucket.until, now_);
  return static_cast<double>(network.burst) - bucket.spent;
}

/// A message between nodes, without the part that both links still let pass at once. The rest takes
/// up all that comes back meanwhile.
Seconds VirtualNetwork::on_link(const Flight& flight, Count bytes) {
  const Network& network = options_.network;
  if (network.burst == 0 || network.beta == 0) return network.occupancy(bytes);
  Bucket& out = ports_[port(flight.from, flight.to)].out;
  Bucket& in = ports_[port(flight.to, flight.from)].in;
  const double at_once =
      std::min({left_of_burst(out), left_of_burst(in), static_cast<double>(bytes)});
  const Seconds shaped = network.beta * (static_cast<double>(bytes) - at_once);
  for (Bucket* const bucket : {&out, &in}) {
    bucket->spent += at_once;
    bucket->until = later(bucket->until, to_ticks(kTransfer, shaped));
  }
  return network.alpha + shaped;
}

Ticks VirtualNetwork::duration(const Flight& flight) {
  const Network& network = options_.network;
  const Count bytes = flight.source.count * options_.element_bytes +
                      static_cast<Count>(flight.piggybacked.size()) +
                      (flight.word ? static_cast<Count>(sizeof(std::uint64_t)) : 0);
  const bool local = network.node(flight.from) == network.node(flight.to);
  Seconds exact = local ? network.local_alpha + network.local_beta * static_cast<double>(bytes)
                        : on_link(flight, bytes);
  if (exchanges(flight)) exact *= network.exchange;
  if (network.jitter == 0) return to_ticks(kTransfer, exact);
  const std::uint64_t pair = pair_number(flight.from, flight.to);
  Random mixed(network.seed ^ Random(pair ^ Random(flight.number).next()).next());
  return to_ticks(kTransfer, exact * (1 + network.jitter * mixed.uniform()));
}

/// The sender is done with it.
void VirtualNetwork::leave(FlightId id) {
  const Flight& flight = flights_[id];
  const std::size_t out = port(flight.from, flight.to);
  --ports_[out].leaving;
  changed_.push_back(out);
  flight.lane->leaving = false;
  if (!eager(flight)) --flight.lane->rendezvous;
  if (!flight.word) complete(flight.from, {flight.send_token, 0, 0});
}

void VirtualNetwork::land(FlightId id) {
  flights_[id].landed = true;
  if (flights_[id].word) return deliver_words(*flights_[id].lane);
  if (flights_[id].recv_posted) deliver(id);
}

void VirtualNetwork::deliver(FlightId id) {
  const Flight flight = std::move(flights_[id]);
  free_flights_.push_back(id);
  if (options_.memory != nullptr) {
    (*options_.memory)[static_cast<std::size_t>(flight.to)].write(flight.target, flight.payload);
  }
  if (!flight.piggybacked.empty()) {
    options_.piggybacks[static_cast<std::size_t>(flight.to)]->unpack(flight.piggybacked.data(),
                                                                     flight.piggybacked.size());
  }
  complete(flight.to, {flight.recv_token, 0, flight.plan_hash});
}

/// In the order in which they were sent, also where several ports take them in side by side.
void VirtualNetwork::deliver_words(Lane& lane) {
  while (!lane.words.empty() && flights_[lane.words.front()].landed) {
    const FlightId id = lane.words.front();
    lane.words.pop_front();
    const Flight flight = flights_[id];
    free_flights_.push_back(id);
    if (flight.word) protocol(flight.to).told(flight.from, *flight.word);
    note_exit(flight.to);
  }
}

// --- Local work: one combine or copy a rank at a time ---

void VirtualNetwork::local(Rank rank, Ticks duration, Token token) {
  const Ticks end = later(now_, duration);
  if (options_.trace) {
    result_->trace.push_back({rank, rank, to_seconds(now_), to_seconds(end), token, token});
  }
  schedule(end, EventKind::local_done, rank, token);
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
  flight.paced = message.paced;
  flight.plan_hash = plan_hash;
  flight.send_token = token;
  if (message.tells && !network_.options_.piggybacks.empty()) {
    network_.options_.piggybacks[static_cast<std::size_t>(rank_)]->pack(flight.piggybacked);
  }
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
  network_.local(rank_, to_ticks("time to combine", time), token);
}

void VirtualNetwork::End::copy(const Slice& from, const Slice& to, Token token) {
  network_.locals_[static_cast<std::size_t>(rank_)] = {from, to, Into::right, true};
  network_.local(rank_, 0, token);
}

/// Like a short message: it takes the ports of both sides, one after another.
void VirtualNetwork::End::tell(Rank peer, std::uint64_t word) {
  const FlightId id = network_.new_flight(rank_, peer);
  Flight& flight = network_.flights_[id];
  flight.word = word;
  flight.number = network_.events_;
  flight.lane->words.push_back(id);
  network_.schedule(network_.now_, EventKind::eligible, rank_, id);
}

}  // namespace latecomer
