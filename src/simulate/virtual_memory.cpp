// Local work on the virtual network, and the memory that the ranks of a node share.
#include <algorithm>

#include "simulate/virtual_network.hpp"

namespace latecomer {

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

}  // namespace latecomer
