#include "simulate/virtual_network.hpp"

#include <algorithm>

#include "base/threads.hpp"

namespace latecomer {
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

void VirtualNetwork::complete(Rank rank, const Completion& completion) {
  protocol(rank).completed(completion);
  note_exit(rank);
}

void VirtualNetwork::note_exit(Rank rank) {
  Seconds& exit = result_->exits[static_cast<std::size_t>(rank)];
  if (exit < 0 && protocol(rank).status() == Status::done) exit = to_seconds(now_);
}

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

}  // namespace latecomer
