// The trace of messages: what the wrappers of MPI's functions for them do while it is on. Nothing
// is asked of MPI before the program's own call, so that errors are the program's as without us.
// Where the job is observed without a trace, only the time in the functions is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "dropin/fast_path.hpp"
#include "dropin/message_records.hpp"
#include "trace/records.hpp"

namespace latecomer::messages {

/// True if messages are to be recorded.
[[nodiscard]] inline bool are_traced() {
  return fast_path.messages.load(std::memory_order_relaxed) == Messages::traced;
}
/// True if they are, or their time is measured.
[[nodiscard]] inline bool are_measured() {
  return fast_path.messages.load(std::memory_order_relaxed) != Messages::untouched;
}
/// Runs a call that is not recorded, of these kinds of trace::OtherCalls.
template <class Native>
int untraced(std::uint8_t calls, const Native& native) {
  const bool counts = fast_path.messages.load(std::memory_order_relaxed) == Messages::timed;
  return counts ? unseen::timed(calls, native) : native();
}
/// From now on they are recorded, if the trace is on, else timed, if calls are only observed; and
/// if the loader hands them to this library.
void begin();
void end();

/// Such a call is entered.
[[nodiscard]] Posting post();
/// The same of a second operation by the same call.
[[nodiscard]] Posting post_with(const Posting& first);

/// A call that may wait, in the file's status from its entry to its exit.
class Inside {
 public:
  /// A message or a probe, of one operation or, by MPI_Sendrecv, of a receive.
  Inside(trace::Doing doing, What what, int peer, int tag, std::int64_t since, const void* site);
  /// A call that completes others.
  Inside(std::int64_t since, const void* site)
      : Inside(trace::Doing::completion, What::send, 0, 0, since, site) {}
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside();
};

// After calls that MPI has carried out. `site`: where the program called from.
void sent(What what, const Posting& posting, const Data& data, const To& to, const void* site);
void received(const Posting& posting, const To& from, const MPI_Status& status, const void* site);
/// A send and a receive by one call.
void exchanged(const Posting& out, const Data& data, const To& to, const Posting& in,
               const To& from, const MPI_Status& status, const void* site);
/// `flags`: bits of trace::Way.
void begun_to_send(What what, int flags, const Posting& posting, const Data& data, const To& to,
                   const MPI_Request* request);
/// An operation that sends and receives by one request. Its receive is lost: MPICH sets no status.
void sent_with_receive(const Posting& posting, const Data& data, const To& to, const void* site);
void lost_with_send(const Posting& posting, const To& from, const MPI_Request* request);
void begun_to_receive(int flags, const Posting& posting, const To& from,
                      const MPI_Request* request);
/// A collective. `root`: -1: it has none.
void begun_together(const char* collective, int flags, int root, std::int64_t time, MPI_Comm comm,
                    const MPI_Request* request, const void* site);
void received_matched(const Posting& posting, MPI_Message message, const MPI_Message* place,
                      const MPI_Status& status, const void* site);
void begun_to_receive_matched(const Posting& posting, MPI_Message message, const MPI_Message* place,
                              const MPI_Request* request);

// Collectives among neighbours: each rank sends a message to some, and receives one from some.

/// Counts and types that are alike for all neighbours, or lists of them.
template <class Counts, class Types>
struct Parts {
  static constexpr bool kAlike = !std::is_pointer_v<Counts>;

  Counts counts;
  Types types;

  [[nodiscard]] Data operator[](std::size_t neighbour) const {
    return {at<kAlike>(counts, neighbour),
            at<std::is_same_v<Types, MPI_Datatype>>(types, neighbour)};
  }

 private:
  template <bool alike, class Each>
  static auto at(Each each, std::size_t neighbour) {
    if constexpr (alike) {
      return each;
    } else {
      return each[neighbour];
    }
  }
};
template <class Counts, class Types>
[[nodiscard]] Parts<Counts, Types> parts(Counts counts, Types types) {
  return {counts, types};
}

struct Neighbour {
  int rank;          // in the communicator
  std::size_t part;  // its place among the parts
};
/// Such that messages between two ranks are sent in the order in which they are received.
struct Neighbours {
  std::vector<Neighbour> to;
  std::vector<Neighbour> from;
};
[[nodiscard]] Neighbours neighbours_of(MPI_Comm comm);
/// Throws where MPI refuses.
template <class Sends, class Receives>
OwnMessages messages_among(MPI_Comm comm, const Sends& sends, const Receives& receives) {
  OwnMessages made;
  if (comm == MPI_COMM_NULL) return made;
  const std::uint32_t id = trace::comm_of_messages(comm).id;
  const Neighbours all = neighbours_of(comm);
  if (id == trace::TracedComm::kNone) {
    trace::recorder()->lose_message();
    return made;
  }
  bool all_are_data = true;
  const auto add = [&](What what, const Neighbour& each, const auto& parts) {
    const Data data = parts[each.part];
    all_are_data = all_are_data && are_data(data, 0);
    if (!all_are_data) return;
    const std::int64_t bytes = bytes_of(data);
    // MPI libraries send nothing if all parts must be empty.
    if (bytes == 0 && Sends::kAlike && Receives::kAlike) return;
    made.push_back(own_message(what, id, trace::OwnTag::of_neighbours, each.rank, bytes));
  };
  for (const Neighbour& each : all.to) add(What::send, each, sends);
  for (const Neighbour& each : all.from) add(What::receive, each, receives);
  if (!all_are_data) made.clear();
  return made;
}
void begun_among(OwnMessages messages, int flags, std::int64_t time, const MPI_Request* request);

/// The status that MPI is to set: the program's, or where that passes none, one of ours.
class OneStatus {
 public:
  explicit OneStatus(MPI_Status* programs)
      : used_(programs == MPI_STATUS_IGNORE ? &own_ : programs) {}
  OneStatus(const OneStatus&) = delete;
  OneStatus& operator=(const OneStatus&) = delete;
  operator MPI_Status*() const { return used_; }

 private:
  MPI_Status own_{};
  MPI_Status* used_;
};

// The bodies of the wrappers. `native`: the function behind ours, whose counts are `Number`s.
template <What what, class Native, class Number>
int send(Native native, const void* buf, Number count, MPI_Datatype type, int dest, int tag,
         MPI_Comm comm, const void* site) {
  const Posting posting = post();
  const Inside inside(trace::Doing::message, what, dest, tag, posting.time, site);
  const int code = native(buf, count, type, dest, tag, comm);
  if (code == MPI_SUCCESS) sent(what, posting, {count, type}, {dest, tag, comm}, site);
  ended(posting.time);
  return code;
}

template <class Native, class Number>
int recv(Native native, void* buf, Number count, MPI_Datatype type, int source, int tag,
         MPI_Comm comm, MPI_Status* status, const void* site) {
  const OneStatus told(status);
  const Posting posting = post();
  const Inside inside(trace::Doing::message, What::receive, source, tag, posting.time, site);
  const int code = native(buf, count, type, source, tag, comm, told);
  if (code == MPI_SUCCESS && are_data({count, type}, tag)) {
    received(posting, {source, tag, comm}, *told, site);
  }
  ended(posting.time);
  return code;
}

/// A message each way. `native` passes on the status that it is given.
template <class Native>
int exchange(const Data& out, const To& to, const Data& in, const To& from, MPI_Status* status,
             const void* site, const Native& native) {
  const OneStatus told(status);
  const Posting sending = post();
  const Posting receiving = post_with(sending);
  const Inside inside(trace::Doing::message, What::receive, from.peer, from.tag, receiving.time,
                      site);
  const int code = native(told);
  if (code == MPI_SUCCESS && are_data(out, to.tag) && are_data(in, from.tag)) {
    exchanged(sending, out, to, receiving, from, *told, site);
  }
  ended(sending.time);
  return code;
}
template <class Native>
int begin_exchange(const Data& out, const To& to, const To& from, const MPI_Request* request,
                   const void* site, const Native& native) {
  const Posting sending = post();
  const Posting receiving = post_with(sending);
  const int code = native();
  if (!has_begun(code, request)) return code;
  sent_with_receive(sending, out, to, site);
  lost_with_send(receiving, from, request);
  return code;
}

template <What what, int flags, class Native, class Number>
int begin_send(Native native, const void* buf, Number count, MPI_Datatype type, int dest, int tag,
               MPI_Comm comm, MPI_Request* request, const void*) {
  const Posting posting = post();
  const int code = native(buf, count, type, dest, tag, comm, request);
  if (has_begun(code, request)) {
    begun_to_send(what, flags, posting, {count, type}, {dest, tag, comm}, request);
  }
  return code;
}
template <int flags, class Native, class Number>
int begin_receive(Native native, void* buf, Number count, MPI_Datatype type, int source, int tag,
                  MPI_Comm comm, MPI_Request* request, const void*) {
  const Posting posting = post();
  const int code = native(buf, count, type, source, tag, comm, request);
  if (has_begun(code, request)) begun_to_receive(flags, posting, {source, tag, comm}, request);
  return code;
}

template <class Native, class Number>
int mrecv(Native native, void* buf, Number count, MPI_Datatype type, MPI_Message* message,
          MPI_Status* status, const void* site) {
  const OneStatus told(status);
  const MPI_Message before = message != nullptr ? *message : MPI_MESSAGE_NULL;
  const Posting posting = post();
  const Inside inside(posting.time, site);
  const int code = native(buf, count, type, message, told);
  if (code == MPI_SUCCESS && are_data({count, type}, 0))
    received_matched(posting, before, message, *told, site);
  ended(posting.time);
  return code;
}
template <class Native, class Number>
int imrecv(Native native, void* buf, Number count, MPI_Datatype type, MPI_Message* message,
           MPI_Request* request, const void*) {
  const MPI_Message before = message != nullptr ? *message : MPI_MESSAGE_NULL;
  const Posting posting = post();
  const int code = native(buf, count, type, message, request);
  if (has_begun(code, request)) begun_to_receive_matched(posting, before, message, request);
  return code;
}

/// `collective`: its name in reports.
template <class Native>
int begin_together(const char* collective, int flags, int root, MPI_Comm comm,
                   const MPI_Request* request, const void* site, const Native& native) {
  const std::int64_t time = post().time;
  const int code = native();
  if (has_set(code, request)) begun_together(collective, flags, root, time, comm, request, site);
  return code;
}

template <class Sends, class Receives, class Native>
int among_neighbours(const Sends& sends, const Receives& receives, MPI_Comm comm, const void* site,
                     const Native& native) {
  const std::int64_t begin = enter_wait();
  const unseen::Inside inside(trace::OtherCalls::neighbours, begin, site);
  const int code = native();
  if (code == MPI_SUCCESS) {
    const Ending ending{begin, trace::now_ns(), site};
    recording([&] {
      const OwnMessages made = messages_among(comm, sends, receives);
      write(made, begin, next_orders(made.size()), ending);
    });
  }
  ended(begin, trace::OtherCalls::neighbours);
  return code;
}
template <class Sends, class Receives, class Native>
int begin_among_neighbours(const Sends& sends, const Receives& receives, int flags, MPI_Comm comm,
                           const MPI_Request* request, const Native& native) {
  const std::int64_t begin = enter_wait();
  const int code = native();
  if (has_begun(code, request)) {
    recording([&] { begun_among(messages_among(comm, sends, receives), flags, begin, request); });
  }
  return code;
}

int probe(decltype(&PMPI_Probe) native, int source, int tag, MPI_Comm comm, MPI_Status* status,
          const void* site);
int mprobe(decltype(&PMPI_Mprobe) native, int source, int tag, MPI_Comm comm, MPI_Message* message,
           MPI_Status* status, const void* site);
int iprobe(decltype(&PMPI_Iprobe) native, int source, int tag, MPI_Comm comm, int* flag,
           MPI_Status* status, const void* site);
int improbe(decltype(&PMPI_Improbe) native, int source, int tag, MPI_Comm comm, int* flag,
            MPI_Message* message, MPI_Status* status, const void* site);
int start(decltype(&PMPI_Start) native, MPI_Request* request, const void* site);
int startall(decltype(&PMPI_Startall) native, int count, MPI_Request requests[], const void* site);
int wait(decltype(&PMPI_Wait) native, MPI_Request* request, MPI_Status* status, const void* site);
int waitall(decltype(&PMPI_Waitall) native, int count, MPI_Request requests[],
            MPI_Status statuses[], const void* site);
int waitany(decltype(&PMPI_Waitany) native, int count, MPI_Request requests[], int* index,
            MPI_Status* status, const void* site);
int waitsome(decltype(&PMPI_Waitsome) native, int count, MPI_Request requests[], int* completed,
             int indices[], MPI_Status statuses[], const void* site);
int test(decltype(&PMPI_Test) native, MPI_Request* request, int* flag, MPI_Status* status,
         const void* site);
int testall(decltype(&PMPI_Testall) native, int count, MPI_Request requests[], int* flag,
            MPI_Status statuses[], const void* site);
int testany(decltype(&PMPI_Testany) native, int count, MPI_Request requests[], int* index,
            int* flag, MPI_Status* status, const void* site);
int testsome(decltype(&PMPI_Testsome) native, int count, MPI_Request requests[], int* completed,
             int indices[], MPI_Status statuses[], const void* site);
int request_free(decltype(&PMPI_Request_free) native, MPI_Request* request, const void* site);
int cancel(decltype(&PMPI_Cancel) native, MPI_Request* request, const void* site);

}  // namespace latecomer::messages
