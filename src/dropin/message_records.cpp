#include "dropin/message_records.hpp"

#include <algorithm>

#include "dropin/fast_path.hpp"

namespace latecomer::messages {
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

}  // namespace

// Calls may come after static objects.
PendingTable& requests() {
  static auto& made = *new PendingTable;
  return made;
}
PendingTable& matched() {
  static auto& made = *new PendingTable;
  return made;
}

std::int64_t bytes_of(const Data& data) {
  for (std::size_t i = 0; i < kCommonSizes.size(); ++i) {
    if (data.type == fast_path.common[i]) return data.count * kCommonSizes[i];
  }
  MPI_Count size = 0;
  PMPI_Type_size_x(data.type, &size);
  return data.count * size;
}

bool describe(trace::Message& record, const Posting& posting, const To& to) {
  if (to.peer == MPI_PROC_NULL || to.comm == MPI_COMM_NULL) return false;
  const trace::TracedComm comm = trace::comm_of_messages(to.comm);
  if (comm.id == trace::TracedComm::kNone) {
    trace::lose_message();
    return false;
  }
  if (to.peer >= comm.ranks) return false;
  record.communicator = comm.id;
  record.peer = to.peer;
  record.tag = to.tag;
  record.posted = posting.time;
  record.order = posting.order;
  return true;
}

void set_wildcards(trace::Message& record, const To& from) {
  if (from.peer == MPI_ANY_SOURCE) record.flags |= trace::any_source;
  if (from.tag == MPI_ANY_TAG) record.flags |= trace::any_tag;
}

void set_from(trace::Message& record, const MPI_Status& status) {
  record.peer = status.MPI_SOURCE;
  record.tag = status.MPI_TAG;
  record.bytes = bytes_of(status);
}

void write(trace::Message record, const Ending& ending) {
  record.begin = std::max(ending.begin, record.posted);  // of another thread
  record.between = std::min(ending.between, record.begin - record.posted);
  record.end = ending.end;
  recorded = true;
  trace::add(record, ending.site);
}

void write(const Pending& done, const MPI_Status* status, const Ending& ending) {
  if (done.silent || !done.active) return;
  if (done.begun.collective != nullptr) {
    recorded = true;
    trace::add_begun({done.begun.collective, done.record.communicator, done.begun.sequence,
                      done.record.posted, std::max(ending.begin, done.record.posted), ending.end,
                      ending.between, done.begun.site});
    return;
  }
  trace::Message record = done.record;
  const bool comes = record.what == trace::What::receive;
  if ((comes || done.cancelled) && status == nullptr) return trace::lose_message(record.order);
  if (done.cancelled && was_cancelled(*status)) return;  // there was no message
  if (comes) set_from(record, *status);
  write(record, ending);
}

void lose(const Pending& pending, const void* site) {
  if (pending.silent || !pending.active || pending.begun.collective != nullptr) return;
  const bool is_sure = pending.record.what != trace::What::receive && !pending.cancelled;
  if (!is_sure) return trace::lose_message(pending.record.order);
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
  fresh.silent = !describe(fresh.record, posting, to);
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
