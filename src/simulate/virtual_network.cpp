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
  for (Port& port : ports_) port.free.assign(each, std::numeric_limits<Ticks>::min());
  for (Rank rank = 0; rank < ranks_; ++rank) transports_.emplace_back(*this, rank);
}

void VirtualNetwork::attach(Rank rank, Protocol& protocol, std::uint64_t plan_hash) {
  protocols_[static_cast<std::size_t>(rank)] = &protocol;
  plan_hashes_[static_cast<std::size_t>(rank)] = plan_hash;
}

void VirtualNetwork::schedule(Ticks time, EventKind kind, Rank rank, std::size_t id) {
  queue_of_events_.push({time, events_++, kind, rank, id});
}

/// Takes over the buckets that earlier calls left.
void VirtualNetwork::begin_links() {
  const auto& [buckets, nodes, began] = options_.links;
  if (buckets == nullptr) return;
  const Ticks later = to_ticks("begin of a call", began);
  for (Rank rank = 0; rank < ranks_; ++rank) {
    Port& port = ports_[static_cast<std::size_t>(link(rank))];
    const LinkBuckets::Link& left = buckets->at(nodes[static_cast<std::size_t>(rank)]);
    port.out = left.out.counted_from(later);
    port.in = left.in.counted_from(later);
  }
}

/// Leaves the buckets to later calls.
void VirtualNetwork::keep_links() const {
  const auto& [buckets, nodes, began] = options_.links;
  if (buckets == nullptr) return;
  const Ticks earlier = -to_ticks("begin of a call", began);
  for (Rank rank = 0; rank < ranks_; ++rank) {
    const Port& port = ports_[static_cast<std::size_t>(link(rank))];
    buckets->at(nodes[static_cast<std::size_t>(rank)]) = {port.out.counted_from(earlier),
                                                          port.in.counted_from(earlier)};
  }
}

void VirtualNetwork::run(Simulation& result) {
  result_ = &result;
  begin_links();
  std::vector<Ticks> arrivals;
  for (const Seconds arrival : result.arrivals) {
    arrivals.push_back(to_ticks("arrival of rank " + std::to_string(arrivals.size()), arrival));
    now_ = std::min(now_, arrivals.back());
  }
  for (Rank rank = 0; rank < ranks_; ++rank) protocol(rank).start();
  for (Rank rank = 0; rank < ranks_; ++rank)
    schedule(arrivals[static_cast<std::size_t>(rank)], EventKind::arrive, rank, 0);
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
  keep_links();
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
  if (exit == kNever && protocol(rank).status() == Status::done) exit = to_seconds(now_);
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

// --- Local work: one combine or copy a rank at a time ---

/// Begins local work, on shared memory with all ranks of the node.
void VirtualNetwork::begin_local(Rank rank, const Posted& posted, bool copies) {
  locals_[static_cast<std::size_t>(rank)] = {posted, copies};
  const auto& [kind, peer, left, right, into, flag, count] = posted.operation;
  const Token token = posted.token;
  if (options_.trace) trace_local(rank, token);
  const bool shared = left.buffer == Buffer::node || right.buffer == Buffer::node;
  const auto [per_byte, share] = local_work(options_.network, copies, shared);
  const auto bytes = static_cast<double>(left.count * options_.element_bytes);
  const Ticks alone = to_ticks("time of local work", per_byte * bytes);
  if (share == 0 || alone == 0) {
    return schedule(later(now_, alone), EventKind::local_done, rank, token);
  }
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

}  // namespace latecomer
