#include "dropin/messages.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>

#include "dropin/next.hpp"
#include "dropin/pending.hpp"
#include "dropin/unseen.hpp"
#include "runtime/trace/tracer.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer::messages {
namespace {

using trace::OtherCalls;

/// Something of the call that is under way on this thread has been recorded.
constinit thread_local bool recorded = false;

// Calls may come after static objects.
PendingTable& requests() {
  static auto& made = *new PendingTable;
  return made;
}
/// Messages that were found by MPI_Mprobe or MPI_Improbe.
PendingTable& matched() {
  static auto& made = *new PendingTable;
  return made;
}

/// The call that completes an operation.
struct Ending {
  std::int64_t begin;
  std::int64_t end;
  const void* site;
  std::int64_t between = 0;  // as in trace::Message
};

/// The end of a call that had success now.
Ending ending(const unseen::Polled& since, const void* site) {
  return {since.begin, trace::now_ns(), site, since.between};
}

/// The program's call has succeeded: what goes wrong in ours costs a record.
template <class Work>
void recording(Work&& work) try {
  UserCode::forget();
  work();
} catch (const RefusedByMpi&) {
  // There is no such communicator, but MPICH says that all is well after an error handler.
} catch (const std::exception&) {
  if (UserCode::threw()) throw;
  trace::lose_message(0);  // which one is not known
}

std::int64_t bytes_of(const Data& data) {
  for (std::size_t i = 0; i < kCommonSizes.size(); ++i) {
    if (data.type == hot.common[i]) return data.count * kCommonSizes[i];
  }
  MPI_Count size = 0;
  PMPI_Type_size_x(data.type, &size);
  return data.count * size;
}

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

/// Sets what is known of an operation when it begins. Returns false if there is nothing to record.
/// After an error handler of the program MPICH says that all is well, so `to` may be wrong.
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

/// `status`: null where neither the program nor we have one.
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
  const bool comes = record.what == What::receive;
  if ((comes || done.cancelled) && status == nullptr) return trace::lose_message(record.order);
  if (done.cancelled && was_cancelled(*status)) return;  // there was no message
  if (comes) set_from(record, *status);
  write(record, ending);
}

/// A message whose end is not known. What others wait for is the posting of a send.
void lose(const Pending& pending, const void* site) {
  if (pending.silent || !pending.active || pending.begun.collective != nullptr) return;
  const bool is_sure = pending.record.what != What::receive && !pending.cancelled;
  if (!is_sure) return trace::lose_message(pending.record.order);
  const std::int64_t now = trace::now_ns();
  write(pending.record, {now, now, site});
}

void add(const Pending& pending) {
  if (!requests().add(pending)) lose(pending, nullptr);
}

/// An operation whose request the program got just now.
Pending begun(int flags, const Posting& posting, const To& to, const MPI_Request* request) {
  Pending fresh;
  fresh.key = key_of(*request);
  fresh.place = place_of(request);
  fresh.record.flags = static_cast<std::uint8_t>(flags);
  fresh.active = (flags & trace::persistent) == 0;
  fresh.silent = !describe(fresh.record, posting, to);
  return fresh;
}

/// A call that may complete a request has ended.
void completed(MPI_Request before, const MPI_Request* place, const MPI_Status* status,
               const Ending& ending) {
  const auto done = requests().complete(key_of(before), place_of(place));
  if (done) write(*done, status, ending);
}

/// It has failed for this request.
void failed(MPI_Request before, const MPI_Request* place) {
  const auto done = requests().complete(key_of(before), place_of(place));
  if (done) lose(*done, nullptr);
}

/// After a call on one request. `did`: it was completed.
void settle(int code, bool did, MPI_Request before, const MPI_Request* place,
            const MPI_Status* status, const unseen::Polled& since, const void* site) {
  recording([&] {
    if (code != MPI_SUCCESS) {
      if (*place != before) failed(before, place);
    } else if (did) {
      completed(before, place, status, ending(since, site));
    }
  });
}

/// So many of anything, on the stack if they are few: a thread of the program may have a small one.
template <class Each>
class Some {  // NOLINT(cppcoreguidelines-pro-type-member-init): MPI or a copy fills what is used
 public:
  [[nodiscard]] Each* make(std::size_t count) {
    if (count <= kFew) return few_;
    many_.reset(new (std::nothrow) Each[count]);
    return many_.get();
  }

 private:
  static constexpr std::size_t kFew = 16;
  Each few_[kFew];
  std::unique_ptr<Each[]> many_;
};

/// The requests of a call that may complete several of them, as they were before it.
class Several {
 public:
  Several(int count, MPI_Request* requests, MPI_Status* statuses)
      : count_(static_cast<std::size_t>(count)), requests_(requests), statuses_(statuses) {
    before_ = copies_.make(count_);
    if (before_ == nullptr) return;
    std::copy_n(requests, count_, before_);
    if (statuses_ != MPI_STATUSES_IGNORE ||
        !messages::requests().any_needs_status(requests, count_)) {
      return;
    }
    MPI_Status* const ours = own_.make(count_);
    if (ours != nullptr) statuses_ = ours;
  }

  /// The program's statuses, or ours where it has none and one is needed.
  [[nodiscard]] MPI_Status* statuses() const { return statuses_; }

  /// The call has completed this request, whose status is at `at`.
  void end(int code, std::size_t request, std::size_t at, const Ending& ending) {
    if (before_ == nullptr || before_[request] == MPI_REQUEST_NULL) return;
    const MPI_Request* const place = requests_ + request;
    const MPI_Status* const status = statuses_ == MPI_STATUSES_IGNORE ? nullptr : statuses_ + at;
    if (code == MPI_SUCCESS) return completed(before_[request], place, status, ending);
    if (code == MPI_ERR_IN_STATUS && status != nullptr) {
      if (status->MPI_ERROR == MPI_SUCCESS) completed(before_[request], place, status, ending);
      if (status->MPI_ERROR == MPI_SUCCESS || status->MPI_ERROR == MPI_ERR_PENDING) return;
      return failed(before_[request], place);
    }
    if (*place != before_[request]) failed(before_[request], place);
  }
  /// The call has completed all of them.
  void end_all(int code, const Ending& ending) {
    recording([&] {
      for (std::size_t i = 0; i < count_; ++i) end(code, i, i, ending);
    });
  }
  /// It has completed these.
  void end_some(int code, int completed, const int* indices, const Ending& ending) {
    if (completed == MPI_UNDEFINED || (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)) return;
    recording([&] {
      for (int i = 0; i < completed; ++i) {
        end(code, static_cast<std::size_t>(indices[i]), static_cast<std::size_t>(i), ending);
      }
    });
  }
  /// It has completed this one.
  void end_one(int index, const MPI_Status* status, const Ending& ending) {
    if (index == MPI_UNDEFINED || before_ == nullptr) return;
    recording([&] { completed(before_[index], requests_ + index, status, ending); });
  }

 private:
  std::size_t count_;
  MPI_Request* requests_;
  MPI_Status* statuses_;
  Some<MPI_Request> copies_;
  Some<MPI_Status> own_;
  MPI_Request* before_ = nullptr;  // null: there is no memory
};

bool is_usable(int count, const MPI_Request* requests) { return count > 0 && requests != nullptr; }

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

/// A call that tests has ended; see ended().
void tested(std::int64_t begin) {
  if (recorded) return unseen::forget();
  unseen::add(OtherCalls::polling, begin, trace::now_ns());
}

/// A call that completes requests, or starts several, is entered. Returns its entry.
std::int64_t enter_wait() {
  unseen::write();
  recorded = false;
  return trace::now_ns();
}
/// The same of one that tests.
std::int64_t enter_test() {
  recorded = false;
  return trace::now_ns();
}

}  // namespace

void begin() {
  if (!trace::is_on() || !loader_has_messages()) return;
  trace::look_at_messages();
  hot.messages = true;
}

void end() {
  if (!hot.messages.exchange(false)) return;
  unseen::write();
  recording([&] {
    for (PendingTable* table : {&requests(), &matched()}) {
      table->for_each([](const Pending& each) { lose(each, nullptr); });
    }
  });
}

Inside::Inside(trace::Doing doing, What what, int peer, int tag, std::int64_t since,
               const void* site) {
  trace::Status status;
  status.doing = doing;
  status.what = static_cast<std::uint8_t>(what);
  status.since = since;
  status.peer = peer == MPI_ANY_SOURCE ? -1 : peer;
  status.sequence = tag == MPI_ANY_TAG ? -1 : tag;
  trace::enter(status, site);
}

Inside::~Inside() {
  if (!recorded) trace::leave();
}

Posting post() {
  unseen::write();
  recorded = false;
  return {trace::now_ns(), unseen::next_message.fetch_add(1, std::memory_order_relaxed)};
}

void ended(std::int64_t begin) {
  if (!recorded) unseen::add(OtherCalls::messages, begin, trace::now_ns());
}

Posting post_with(const Posting& first) {
  return {first.time, unseen::next_message.fetch_add(1, std::memory_order_relaxed)};
}

namespace {

void sent(trace::Message record, const Posting& posting, const Data& data, const To& to,
          const Ending& ending) {
  recording([&] {
    if (!describe(record, posting, to)) return;
    record.bytes = bytes_of(data);
    write(record, ending);
  });
}

void received(const Posting& posting, const To& from, const MPI_Status& status,
              const Ending& ending) {
  recording([&] {
    trace::Message record;
    record.what = What::receive;
    if (!describe(record, posting, from)) return;
    set_wildcards(record, from);
    set_from(record, status);
    write(record, ending);
  });
}

}  // namespace

void sent(What what, const Posting& posting, const Data& data, const To& to, const void* site) {
  trace::Message record;
  record.what = what;
  sent(record, posting, data, to, {posting.time, trace::now_ns(), site});
}

void sent_with_receive(const Posting& posting, const Data& data, const To& to, const void* site) {
  const std::int64_t now = trace::now_ns();
  trace::Message record;
  record.flags = trace::nonblocking;
  sent(record, posting, data, to, {now, now, site});
}

void received(const Posting& posting, const To& from, const MPI_Status& status, const void* site) {
  received(posting, from, status, {posting.time, trace::now_ns(), site});
}

void exchanged(const Posting& out, const Data& data, const To& to, const Posting& in,
               const To& from, const MPI_Status& status, const void* site) {
  const Ending ending{out.time, trace::now_ns(), site};
  sent(trace::Message{}, out, data, to, ending);
  received(in, from, status, ending);
}

void begun_to_send(What what, int flags, const Posting& posting, const Data& data, const To& to,
                   const MPI_Request* request) {
  recording([&] {
    Pending fresh = begun(flags, posting, to, request);
    fresh.record.what = what;
    if (!fresh.silent) fresh.record.bytes = bytes_of(data);
    add(fresh);
  });
}

void begun_to_receive(int flags, const Posting& posting, const To& from,
                      const MPI_Request* request) {
  recording([&] {
    Pending fresh = begun(flags, posting, from, request);
    fresh.record.what = What::receive;
    set_wildcards(fresh.record, from);
    add(fresh);
  });
}

void lost_with_send(const Posting& posting, const To& from, const MPI_Request* request) {
  recording([&] {
    Pending fresh = begun(trace::nonblocking, posting, from, request);
    if (!fresh.silent) trace::lose_message(posting.order);
    fresh.silent = true;
    add(fresh);
  });
}

void begun_together(const char* collective, int flags, std::int64_t time, MPI_Comm comm,
                    const MPI_Request* request, const void* site) {
  recording([&] {
    Pending fresh;
    fresh.key = key_of(*request);
    fresh.place = place_of(request);
    fresh.record.flags = static_cast<std::uint8_t>(flags);
    fresh.active = (flags & trace::persistent) == 0;
    fresh.record.posted = time;
    if (collective != nullptr) fresh.record.communicator = trace::comm_of_messages(comm).id;
    fresh.silent = collective == nullptr || fresh.record.communicator == trace::TracedComm::kNone;
    if (!fresh.silent) fresh.begun = {collective, trace::calls_on(comm), 0, nullptr};
    if (!fresh.silent && fresh.active) fresh.begun.begin(site);
    add(fresh);
  });
}

void received_matched(const Posting& posting, MPI_Message message, const MPI_Message* place,
                      const MPI_Status& status, const void* site) {
  if (message == MPI_MESSAGE_NO_PROC) return;
  const std::int64_t end = trace::now_ns();
  recording([&] {
    auto known = matched().erase(key_of(message), place_of(place));
    if (!known) return trace::lose_message(0);
    known->record.posted = posting.time;
    write(*known, &status, {posting.time, end, site});
  });
}

void begun_to_receive_matched(const Posting& posting, MPI_Message message, const MPI_Message* place,
                              const MPI_Request* request) {
  recording([&] {
    Pending fresh;
    fresh.silent = true;
    if (message != MPI_MESSAGE_NO_PROC) {
      const auto known = matched().erase(key_of(message), place_of(place));
      if (known) fresh = *known;
      if (!known) trace::lose_message(0);
    }
    fresh.key = key_of(*request);
    fresh.place = place_of(request);
    fresh.record.flags |= trace::nonblocking;
    fresh.record.posted = posting.time;
    add(fresh);
  });
}

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

namespace {

/// A probe that did not wait, with its number: it may be the last of several that did together.
Posting post_polled(const unseen::Polled& since) {
  return post_with({since.begin - since.between, 0});
}

}  // namespace

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

namespace {

void started(const Posting& posting, const MPI_Request* request, const void* site) {
  requests().change(key_of(*request), place_of(request), [&](Pending& own) {
    if (!own.is_persistent()) return;
    own.active = true;
    own.record.posted = posting.time;
    own.record.order = posting.order;
    if (own.begun.collective != nullptr) own.begun.begin(site);
  });
}

}  // namespace

int start(decltype(&PMPI_Start) native, MPI_Request* request, const void* site) {
  const Posting posting = post();
  const int code = native(request);
  if (code == MPI_SUCCESS) started(posting, request, site);
  return code;
}

int startall(decltype(&PMPI_Startall) native, int count, MPI_Request requests[], const void* site) {
  if (!is_usable(count, requests)) return native(count, requests);
  const std::int64_t time = enter_wait();
  const std::uint32_t first = unseen::next_message.fetch_add(static_cast<std::uint32_t>(count));
  const int code = native(count, requests);
  for (int i = 0; code == MPI_SUCCESS && i < count; ++i) {
    started({time, first + static_cast<std::uint32_t>(i)}, requests + i, site);
  }
  return code;
}

int wait(decltype(&PMPI_Wait) native, MPI_Request* request, MPI_Status* status, const void* site) {
  if (request == nullptr || *request == MPI_REQUEST_NULL) return native(request, status);
  const OneStatus told(status);
  const MPI_Request before = *request;
  const std::int64_t begin = enter_wait();
  const Inside inside(begin, site);
  const int code = native(request, told);
  settle(code, true, before, request, told, {begin, 0}, site);
  ended(begin);
  return code;
}

int test(decltype(&PMPI_Test) native, MPI_Request* request, int* flag, MPI_Status* status,
         const void* site) {
  if (request == nullptr || *request == MPI_REQUEST_NULL) return native(request, flag, status);
  const OneStatus told(status);
  const MPI_Request before = *request;
  const std::int64_t begin = enter_test();
  const unseen::Polled since = unseen::polled(begin);
  const int code = native(request, flag, told);
  settle(code, code == MPI_SUCCESS && *flag != 0, before, request, told, since, site);
  tested(begin);
  return code;
}

int waitall(decltype(&PMPI_Waitall) native, int count, MPI_Request requests[],
            MPI_Status statuses[], const void* site) {
  if (!is_usable(count, requests)) return native(count, requests, statuses);
  Several several(count, requests, statuses);
  const std::int64_t begin = enter_wait();
  const Inside inside(begin, site);
  const int code = native(count, requests, several.statuses());
  several.end_all(code, {begin, trace::now_ns(), site});
  ended(begin);
  return code;
}

int testall(decltype(&PMPI_Testall) native, int count, MPI_Request requests[], int* flag,
            MPI_Status statuses[], const void* site) {
  if (!is_usable(count, requests)) return native(count, requests, flag, statuses);
  Several several(count, requests, statuses);
  const std::int64_t begin = enter_test();
  const unseen::Polled since = unseen::polled(begin);
  const int code = native(count, requests, flag, several.statuses());
  if (code != MPI_SUCCESS || *flag != 0) several.end_all(code, ending(since, site));
  tested(begin);
  return code;
}

int waitany(decltype(&PMPI_Waitany) native, int count, MPI_Request requests[], int* index,
            MPI_Status* status, const void* site) {
  if (!is_usable(count, requests)) return native(count, requests, index, status);
  const OneStatus told(status);
  Several several(count, requests, told);
  const std::int64_t begin = enter_wait();
  const Inside inside(begin, site);
  const int code = native(count, requests, index, told);
  if (code == MPI_SUCCESS) several.end_one(*index, told, {begin, trace::now_ns(), site});
  ended(begin);
  return code;
}

int testany(decltype(&PMPI_Testany) native, int count, MPI_Request requests[], int* index,
            int* flag, MPI_Status* status, const void* site) {
  if (!is_usable(count, requests)) return native(count, requests, index, flag, status);
  const OneStatus told(status);
  Several several(count, requests, told);
  const std::int64_t begin = enter_test();
  const unseen::Polled since = unseen::polled(begin);
  const int code = native(count, requests, index, flag, told);
  if (code == MPI_SUCCESS && *flag != 0) several.end_one(*index, told, ending(since, site));
  tested(begin);
  return code;
}

namespace {

int some(decltype(&PMPI_Waitsome) native, int count, MPI_Request requests[], int* completed,
         int indices[], MPI_Status statuses[], const unseen::Polled& since, const void* site) {
  Several several(count, requests, statuses);
  const int code = native(count, requests, completed, indices, several.statuses());
  if (*completed != 0) several.end_some(code, *completed, indices, ending(since, site));
  return code;
}

}  // namespace

int waitsome(decltype(&PMPI_Waitsome) native, int count, MPI_Request requests[], int* completed,
             int indices[], MPI_Status statuses[], const void* site) {
  if (!is_usable(count, requests)) return native(count, requests, completed, indices, statuses);
  const std::int64_t begin = enter_wait();
  const Inside inside(begin, site);
  const int code = some(native, count, requests, completed, indices, statuses, {begin, 0}, site);
  ended(begin);
  return code;
}

int testsome(decltype(&PMPI_Testsome) native, int count, MPI_Request requests[], int* completed,
             int indices[], MPI_Status statuses[], const void* site) {
  if (!is_usable(count, requests)) return native(count, requests, completed, indices, statuses);
  const std::int64_t begin = enter_test();
  const unseen::Polled since = unseen::polled(begin);
  const int code = some(native, count, requests, completed, indices, statuses, since, site);
  tested(begin);
  return code;
}

int request_free(decltype(&PMPI_Request_free) native, MPI_Request* request, const void* site) {
  const MPI_Request before = request != nullptr ? *request : MPI_REQUEST_NULL;
  const int code = native(request);
  if (code != MPI_SUCCESS) return code;
  const auto freed = requests().erase(key_of(before), place_of(request));
  if (freed) recording([&] { lose(*freed, site); });
  return code;
}

int cancel(decltype(&PMPI_Cancel) native, MPI_Request* request, const void*) {
  const int code = native(request);
  if (code == MPI_SUCCESS) {
    requests().change(key_of(*request), place_of(request),
                      [](Pending& own) { own.cancelled = true; });
  }
  return code;
}

}  // namespace latecomer::messages
