// Probes: waits for a message that another call receives.
#include "dropin/message_records.hpp"
#include "dropin/messages.hpp"

namespace latecomer::messages {
namespace {

/// A message that a probe has found. Its receive gets a number now, since now it is matched.
void found(const Posting& posting, const To& from, MPI_Message message, const MPI_Message* place) {
  if (message == MPI_MESSAGE_NO_PROC || message == MPI_MESSAGE_NULL) return;
  Pending fresh;
  fresh.key = key_of(message);
  fresh.place = place_of(place);
  fresh.record.what = What::receive;
  fresh.record.flags = trace::matched_probe;
  set_wildcards(fresh.record, from);
  fresh.silent = !describe(fresh.record, posting, from);
  if (!matched().add(fresh)) lose(fresh, nullptr);
}

/// `since`: what it waited from.
void probed(const Posting& posting, const To& from, const MPI_Status& status,
            const unseen::Polled& since, const void* site) {
  const Ending wait = ending(since, site);
  trace::Message record;
  record.what = What::probe;
  if (!describe(record, posting, from)) return;
  set_wildcards(record, from);
  set_from(record, status);
  write(record, wait);
}

/// A probe that did not wait, with its number: it may be the last of several that did together.
Posting post_polled(const unseen::Polled& since) {
  return post_with({since.begin - since.between, 0});
}

}  // namespace

int probe(decltype(&PMPI_Probe) native, int source, int tag, MPI_Comm comm, MPI_Status* status,
          const void* site) {
  const OneStatus told(status);
  const Posting posting = post();
  const Inside inside(trace::Doing::probe, What::probe, source, tag, posting.time, site);
  const int code = native(source, tag, comm, told);
  if (code == MPI_SUCCESS) {
    recording([&] { probed(posting, {source, tag, comm}, *told, {posting.time, 0}, site); });
  }
  ended(posting.time);
  return code;
}

int mprobe(decltype(&PMPI_Mprobe) native, int source, int tag, MPI_Comm comm, MPI_Message* message,
           MPI_Status* status, const void* site) {
  const OneStatus told(status);
  const Posting posting = post();
  const Inside inside(trace::Doing::probe, What::probe, source, tag, posting.time, site);
  const int code = native(source, tag, comm, message, told);
  if (code == MPI_SUCCESS) {
    recording([&] {
      probed(posting, {source, tag, comm}, *told, {posting.time, 0}, site);
      found(post_with(posting), {source, tag, comm}, *message, message);
    });
  }
  ended(posting.time);
  return code;
}

int iprobe(decltype(&PMPI_Iprobe) native, int source, int tag, MPI_Comm comm, int* flag,
           MPI_Status* status, const void* site) {
  const OneStatus told(status);
  const std::int64_t begin = enter_test();
  const unseen::Polled since = unseen::polled(begin);
  const int code = native(source, tag, comm, flag, told);
  if (code == MPI_SUCCESS && *flag != 0) {
    recording([&] { probed(post_polled(since), {source, tag, comm}, *told, since, site); });
  }
  tested(begin);
  return code;
}

int improbe(decltype(&PMPI_Improbe) native, int source, int tag, MPI_Comm comm, int* flag,
            MPI_Message* message, MPI_Status* status, const void* site) {
  const OneStatus told(status);
  const std::int64_t begin = enter_test();
  const unseen::Polled since = unseen::polled(begin);
  const int code = native(source, tag, comm, flag, message, told);
  if (code == MPI_SUCCESS && *flag != 0) {
    recording([&] {
      const To from{source, tag, comm};
      probed(post_polled(since), from, *told, since, site);
      found(post_with({begin, 0}), from, *message, message);
    });
  }
  tested(begin);
  return code;
}

}  // namespace latecomer::messages
