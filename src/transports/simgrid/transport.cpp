#include "transports/simgrid/transport.hpp"

#include "base/error.hpp"

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
  const std::unique_ptr<Flight> flight = std::move(flights_[index]);
  activities_.erase(activities_.begin() + at);
  flights_.erase(flights_.begin() + at);
  if (flight->outgoing) put_next(flight->message.peer);
  protocol.completed(flight->outgoing ? Completion{flight->token} : receive(*flight));
}

Completion SimGridTransport::receive(Flight& flight) {
  const std::unique_ptr<Parcel> parcel(flight.parcel);
  if (memory_ != nullptr) memory_->write(flight.message.data, parcel->elements);
  return {flight.token, 0, parcel->plan_hash};
}

/// Both sides find the same one, since they name the same number of elements.
s4u::Mailbox* SimGridTransport::mailbox(Rank from, Rank to, const Message& message) const {
  const std::string pair = std::to_string(from) + '>' + std::to_string(to);
  return s4u::Mailbox::by_name(is_eager(message) ? pair + " eager" : pair);
}

void SimGridTransport::send(const Message& message, std::uint64_t plan_hash, Token token) {
  std::deque<Outgoing>& queue = leaving_[message.peer];
  queue.push_back({message, plan_hash, token});
  if (queue.size() == 1) put(queue.front());
}

void SimGridTransport::put(const Outgoing& outgoing) {
  const Message& message = outgoing.message;
  auto parcel = std::make_unique<Parcel>(Parcel{outgoing.plan_hash, {}});
  if (memory_ != nullptr) parcel->elements = memory_->read(message.data);
  s4u::Mailbox* const box = mailbox(me_, message.peer, message);
  // What is sent to a mailbox with a permanent receiver leaves before its receive is posted.
  if (is_eager(message)) box->set_receiver(actors_[static_cast<std::size_t>(message.peer)]);
  const auto size = static_cast<std::uint64_t>(bytes(message));
  add({message, outgoing.token, true, nullptr}, box->put_async(parcel.release(), size));
}

void SimGridTransport::put_next(Rank peer) {
  std::deque<Outgoing>& queue = leaving_[peer];
  queue.pop_front();
  if (!queue.empty()) put(queue.front());
}

void SimGridTransport::recv(const Message& message, Token token) {
  flights_.push_back(std::make_unique<Flight>(Flight{message, token, false, nullptr}));
  s4u::Mailbox* const box = mailbox(message.peer, me_, message);
  activities_.emplace_back(box->get_async<Parcel>(&flights_.back()->parcel));
}

void SimGridTransport::add(Flight flight, const s4u::CommPtr& activity) {
  flights_.push_back(std::make_unique<Flight>(flight));
  activities_.emplace_back(activity);
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

void SimGridTransport::tell(Rank /*peer*/, std::uint64_t /*word*/) {
  throw Error("protocol", "one whose ranks tell each other words", "a program, on SimGrid");
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
