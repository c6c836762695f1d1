// Calls that start, complete, free or cancel requests.
#include <algorithm>
#include <memory>
#include <new>

#include "dropin/message_records.hpp"
#include "dropin/messages.hpp"

namespace latecomer::messages {

// The requests of a call that may complete several of them.

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
    if (statuses_ != MPI_STATUSES_IGNORE) return;
    MPI_Status* const ours = own_.make(count_);
    if (ours != nullptr) statuses_ = ours;
  }

  /// The program's statuses, or ours where it has none.
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
  /// It has failed, and tells of no request: those that are gone have failed.
  void fail() {
    recording([&] {
      for (std::size_t i = 0; before_ != nullptr && i < count_; ++i) {
        if (requests_[i] != before_[i]) failed(before_[i], requests_ + i);
      }
    });
  }
  /// It has completed these.
  void end_some(int code, int completed, const int* indices, const Ending& ending) {
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return fail();
    if (completed == MPI_UNDEFINED || indices == nullptr) return;
    recording([&] {
      for (int i = 0; i < completed; ++i) {
        end(code, static_cast<std::size_t>(indices[i]), static_cast<std::size_t>(i), ending);
      }
    });
  }
  /// It has completed this one.
  void end_one(int index, const MPI_Status* status, const Ending& ending) {
    if (before_ == nullptr || index < 0 || index >= static_cast<int>(count_)) return;
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

[[nodiscard]] inline bool is_usable(int count, const MPI_Request* requests) {
  return count > 0 && requests != nullptr;
}

namespace {

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

void started(const Posting& posting, const MPI_Request* request, const void* site) {
  requests().change(key_of(*request), place_of(request), [&](Pending& own) {
    if (!own.is_persistent()) return;
    own.active = true;
    own.record.posted = posting.time;
    own.record.order = own.among != nullptr ? next_orders(own.among->size()) : posting.order;
    if (own.begun.collective != nullptr) own.begun.begin(site);
  });
}

int some(decltype(&PMPI_Waitsome) native, int count, MPI_Request requests[], int* completed,
         int indices[], MPI_Status statuses[], const unseen::Polled& since, const void* site) {
  Several several(count, requests, statuses);
  const int code = native(count, requests, completed, indices, several.statuses());
  const int number = completed != nullptr ? *completed : 0;
  if (number != 0 || code != MPI_SUCCESS) {
    several.end_some(code, number, indices, ending(since, site));
  }
  return code;
}

}  // namespace

int start(decltype(&PMPI_Start) native, MPI_Request* request, const void* site) {
  const Posting posting = post();
  const int code = native(request);
  if (has_set(code, request)) started(posting, request, site);
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
  settle(code, is_true(code, flag), before, request, told, since, site);
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
  if (code != MPI_SUCCESS || is_true(code, flag)) several.end_all(code, ending(since, site));
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
  if (has_set(code, index)) several.end_one(*index, told, {begin, trace::now_ns(), site});
  if (code != MPI_SUCCESS) several.fail();
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
  if (is_true(code, flag) && index != nullptr) several.end_one(*index, told, ending(since, site));
  if (code != MPI_SUCCESS) several.fail();
  tested(begin);
  return code;
}

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
  if (has_set(code, request)) {
    requests().change(key_of(*request), place_of(request),
                      [](Pending& own) { own.cancelled = true; });
  }
  return code;
}

}  // namespace latecomer::messages
