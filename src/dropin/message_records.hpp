// The records of messages, and of collectives that a request completes: from the call that
// begins an operation to the one that completes it.
#pragma once

#include <cstdint>
#include <exception>

#include "dropin/operation.hpp"
#include "dropin/pending.hpp"
#include "dropin/unseen.hpp"
#include "runtime/trace/tracer.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer::messages {

/// Something of the call that is under way on this thread has been recorded.
inline constinit thread_local bool recorded = false;

[[nodiscard]] PendingTable& requests();
/// Messages that were found by MPI_Mprobe or MPI_Improbe.
[[nodiscard]] PendingTable& matched();

/// The call that completes an operation.
struct Ending {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  const void* site = nullptr;
  std::int64_t between = 0;  // as in trace::Message
};

/// The end of a call that had success now.
[[nodiscard]] inline Ending ending(const unseen::Polled& since, const void* site) {
  return {since.begin, trace::now_ns(), site, since.between};
}

/// The program's call has succeeded: what goes wrong in ours costs a record.
template <class Work>
void recording(Work&& work) try {
  UserCode::forget();
  work();
} catch (const RefusedByMpi&) {
  return;  // there is no such communicator, but MPICH says that all is well after an error handler
} catch (const std::exception&) {
  if (UserCode::threw()) throw;
  trace::lose_message(0);  // which one is not known
}

[[nodiscard]] std::int64_t bytes_of(const Data& data);
/// Sets what is known of an operation when it begins. Returns false if there is nothing to record.
/// After an error handler of the program MPICH says that all is well, so `to` may be wrong.
[[nodiscard]] bool describe(trace::Message& record, const Posting& posting, const To& to);
void set_wildcards(trace::Message& record, const To& from);
/// Sets what came.
void set_from(trace::Message& record, const MPI_Status& status);

void write(trace::Message record, const Ending& ending);
/// `status`: null where neither the program nor we have one.
void write(const Pending& done, const MPI_Status* status, const Ending& ending);
/// A message whose end is not known. What others wait for is the posting of a send.
void lose(const Pending& pending, const void* site);

/// An operation whose request the program got just now.
[[nodiscard]] Pending begun(int flags, const Posting& posting, const To& to,
                            const MPI_Request* request);
void add(const Pending& pending);
/// A call that may complete a request has ended.
void completed(MPI_Request before, const MPI_Request* place, const MPI_Status* status,
               const Ending& ending);
/// It has failed for this request.
void failed(MPI_Request before, const MPI_Request* place);

/// A call that completes requests, or starts several, is entered. Returns its entry.
[[nodiscard]] inline std::int64_t enter_wait() {
  unseen::write();
  recorded = false;
  return trace::now_ns();
}
/// The same of one that tests.
[[nodiscard]] inline std::int64_t enter_test() {
  recorded = false;
  return trace::now_ns();
}
/// A call that tests has ended; see ended().
inline void tested(std::int64_t begin) {
  if (recorded) return unseen::forget();
  unseen::add(trace::OtherCalls::polling, begin, trace::now_ns());
}

}  // namespace latecomer::messages
