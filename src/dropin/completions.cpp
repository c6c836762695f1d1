// Calls that start, complete, free or cancel requests.
#include "dropin/messages.hpp"
#include "dropin/several.hpp"

namespace latecomer::messages {
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
    own.record.order = posting.order;
    if (own.begun.collective != nullptr) own.begun.begin(site);
  });
}

int some(decltype(&PMPI_Waitsome) native, int count, MPI_Request requests[], int* completed,
         int indices[], MPI_Status statuses[], const unseen::Polled& since, const void* site) {
  Several several(count, requests, statuses);
  const int code = native(count, requests, completed, indices, several.statuses());
  if (*completed != 0) several.end_some(code, *completed, indices, ending(since, site));
  return code;
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
