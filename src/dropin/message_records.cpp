#include "dropin/message_records.hpp"

#include <algorithm>

#include "base/threads.hpp"
#include "dropin/fast_path.hpp"

namespace latecomer::messages {

PendingTable::Chain& PendingTable::chain_of(std::uint64_t key) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // handles differ in few bits
  return chains_[(key * kGolden >> 32) & (chains_.size() - 1)];
}

PendingTable::Link PendingTable::find(std::uint64_t key, const void* place) {
  if (used_ == 0) return {};
  Link oldest;
  Link same_place;  // the last one: the program's variable holds that
  Link link{chain_of(key).first, kNone};
  for (int alike = 0; link.at != kNone && alike < kAlike;) {
    const Pending& each = pool_[link.at];
    if (each.key == key) {
      if (oldest.at == kNone) oldest = link;
      if (each.place == place) same_place = link;
      ++alike;
    }
    link = {each.next, link.at};
  }
  return same_place.at != kNone ? same_place : oldest;
}

std::uint32_t PendingTable::free_place() {
  if (free_ != kNone) {
    const std::uint32_t at = free_;
    free_ = pool_[at].next;
    return at;
  }
  pool_.emplace_back();
  return static_cast<std::uint32_t>(pool_.size() - 1);
}

/// To the end of its chain, which so has what is older first.
void PendingTable::append(std::uint32_t at) {
  Chain& chain = chain_of(pool_[at].key);
  pool_[at].next = kNone;
  (chain.first == kNone ? chain.first : pool_[chain.last].next) = at;
  chain.last = at;
}

void PendingTable::grow() {
  constexpr std::size_t kFirst = 256;
  std::vector<Chain> old(chains_.empty() ? kFirst : 2 * chains_.size());
  old.swap(chains_);
  for (const Chain& chain : old) {
    for (std::uint32_t at = chain.first; at != kNone;) {
      const std::uint32_t next = pool_[at].next;
      append(at);
      at = next;
    }
  }
}

bool PendingTable::add(const Pending& fresh) {
  const std::lock_guard hold(guard_);
  if (used_ >= kMost) return false;
  if (used_ >= chains_.size()) grow();
  const std::uint32_t at = free_place();
  pool_[at] = fresh;
  append(at);
  ++used_;
  return true;
}

Pending PendingTable::take(Link link) {
  Pending& taken = pool_[link.at];
  Chain& chain = chain_of(taken.key);
  (link.before == kNone ? chain.first : pool_[link.before].next) = taken.next;
  if (chain.last == link.at) chain.last = link.before;
  taken.next = free_;
  free_ = link.at;
  --used_;
  return taken;
}

std::optional<Pending> PendingTable::complete(std::uint64_t key, const void* place) {
  const std::lock_guard hold(guard_);
  const Link found = find(key, place);
  if (found.at == kNone) return std::nullopt;
  if (!pool_[found.at].is_persistent()) return take(found);
  Pending completed = pool_[found.at];
  pool_[found.at].active = false;
  pool_[found.at].cancelled = false;
  return completed;
}

std::optional<Pending> PendingTable::erase(std::uint64_t key, const void* place) {
  const std::lock_guard hold(guard_);
  const Link found = find(key, place);
  if (found.at == kNone) return std::nullopt;
  return take(found);
}

namespace {

/// The bytes that came.
std::int64_t bytes_of(const MPI_Status& status) {
  int count = MPI_UNDEFINED;
  PMPI_Get_count(&status, MPI_BYTE, &count);
  if (count != MPI_UNDEFINED) return count;
  MPI_Count large = 0;  // more than an int holds
  PMPI_Get_elements_x(&status, MPI_BYTE, &large);
  return std::max<std::int64_t>(large, 0);
}

bool was_cancelled(const MPI_Status& status) {
  int flag = 0;
  PMPI_Test_cancelled(&status, &flag);
  return flag != 0;
}

struct Tables {
  PendingTable requests;
  PendingTable matched;
};

/// A collective that another call has completed. It overlaps with others.
void write_collective(const Pending& done, const Ending& ending) {
  trace::Call call;
  call.served = trace::Served::other;
  call.overlaps = 1;
  call.root = std::max(done.begun.root, -1);
  call.communicator = done.record.communicator;
  call.sequence = done.begun.sequence;
  call.arrival = done.record.posted;
  call.exit = ending.end;
  trace::Completion completion;
  completion.communicator = call.communicator;
  completion.sequence = call.sequence;
  completion.begin = std::max(ending.begin, call.arrival);
  completion.between = ending.between;
  recorded = true;
  trace::recorder()->add(call, done.begun.collective, done.begun.site, completion);
}

}  // namespace

PendingTable& requests() { return lasting<Tables>().requests; }
PendingTable& matched() { return lasting<Tables>().matched; }

std::int64_t bytes_of(const Data& data) {
  for (std::size_t i = 0; i < kCommonSizes.size(); ++i) {
    if (data.type == fast_path.common[i]) return data.count * kCommonSizes[i];
  }
  MPI_Count size = 0;
  PMPI_Type_size_x(data.type, &size);
  return data.count * size;
}

std::optional<int> describe(trace::Message& record, const Posting& posting, const To& to) {
  if (to.peer < 0 && to.peer != MPI_ANY_SOURCE) return std::nullopt;
  if (to.peer == MPI_PROC_NULL || to.comm == MPI_COMM_NULL) return std::nullopt;
  const trace::TracedComm comm = trace::comm_of_messages(to.comm);
  if (comm.id == trace::TracedComm::kNone) {
    trace::recorder()->lose_message();
    return std::nullopt;
  }
  if (to.peer >= comm.peers) return std::nullopt;
  record.communicator = comm.id;
  record.peer = comm.first + to.peer;
  record.tag = to.tag;
  record.posted = posting.time;
  record.order = posting.order;
  return comm.first;
}

void set_wildcards(trace::Message& record, const To& from) {
  if (from.peer == MPI_ANY_SOURCE) record.flags |= trace::any_source;
  if (from.tag == MPI_ANY_TAG) record.flags |= trace::any_tag;
}

void set_from(trace::Message& record, const MPI_Status& status, int first) {
  record.peer = first + status.MPI_SOURCE;
  record.tag = status.MPI_TAG;
  record.bytes = bytes_of(status);
}

void write(trace::Message record, const Ending& ending) {
  record.begin = std::max(ending.begin, record.posted);  // of another thread
  record.between = std::min(ending.between, record.begin - record.posted);
  record.end = ending.end;
  recorded = true;
  trace::recorder()->add(record, ending.site);
}

trace::Message own_message(What what, std::uint32_t communicator, trace::OwnTag::Tag tag, int peer,
                           std::int64_t bytes) {
  trace::Message made;
  made.what = what;
  made.communicator = communicator;
  made.tag = tag;
  made.peer = peer;
  made.bytes = bytes;
  return made;
}

void write(const OwnMessages& messages, std::int64_t posted, std::uint32_t first,
           const Ending& ending) {
  for (trace::Message each : messages) {
    each.posted = posted;
    each.order = first++;
    write(each, ending);
  }
}

void write(const Pending& done, const MPI_Status* status, const Ending& ending) {
  if (done.silent || !done.active) return;
  if (done.begun.collective != nullptr) {
    return write_collective(done, ending);
  }
  if (done.among != nullptr) {
    return write(*done.among, done.record.posted, done.record.order, ending);
  }
  trace::Message record = done.record;
  const bool comes = record.what == What::receive;
  if ((comes || done.cancelled) && status == nullptr)
    return trace::recorder()->lose_message(record.order);
  if (done.cancelled && was_cancelled(*status)) return;  // there was no message
  if (comes) set_from(record, *status, done.first);
  write(record, ending);
}

void lose(const Pending& pending, const void* site) {
  if (pending.silent || !pending.active || pending.begun.collective != nullptr) return;
  if (pending.among != nullptr) {
    const auto count = static_cast<std::uint32_t>(pending.among->size());
    for (std::uint32_t i = 0; i < count; ++i) {
      trace::recorder()->lose_message(pending.record.order + i);
    }
    return;
  }
  const bool is_sure = pending.record.what != What::receive && !pending.cancelled;
  if (!is_sure) return trace::recorder()->lose_message(pending.record.order);
  const std::int64_t now = trace::now_ns();
  write(pending.record, {now, now, site});
}

void add(const Pending& pending) {
  if (!requests().add(pending)) lose(pending, nullptr);
}

Pending begun(int flags, const Posting& posting, const To& to, const MPI_Request* request) {
  Pending fresh;
  fresh.key = key_of(*request);
  fresh.place = place_of(request);
  fresh.record.flags = static_cast<std::uint8_t>(flags);
  fresh.active = (flags & trace::persistent) == 0;
  const std::optional<int> first = describe(fresh.record, posting, to);
  fresh.silent = !first;
  fresh.first = first.value_or(0);
  return fresh;
}

void completed(MPI_Request before, const MPI_Request* place, const MPI_Status* status,
               const Ending& ending) {
  const auto done = requests().complete(key_of(before), place_of(place));
  if (done) write(*done, status, ending);
}

void failed(MPI_Request before, const MPI_Request* place) {
  const auto done = requests().complete(key_of(before), place_of(place));
  if (done) lose(*done, nullptr);
}

}  // namespace latecomer::messages
