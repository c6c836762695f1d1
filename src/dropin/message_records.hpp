// The records of messages, and of collectives that a request completes: from the call that begins
// an operation to the one that completes it.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/types.hpp"
#include "dropin/unseen.hpp"
#include "runtime/trace/tracer.hpp"
#include "trace/records.hpp"
#include "transports/mpi/mpi.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer::messages {

using trace::What;

// An operation on messages as the program describes it.

/// The entry of a call that begins an operation.
struct Posting {
  std::int64_t time;
  std::uint32_t order;
};

/// Data as the program describes them.
struct Data {
  Count count;
  MPI_Datatype type;
};
/// The program's names: the other rank, and the communicator.
struct To {
  int peer;
  int tag;
  MPI_Comm comm;
};

/// True if a call had success, and has set what these point to: after an error handler of the
/// program MPICH says that all is well, whatever was wrong.
template <class... Set>
[[nodiscard]] bool has_set(int code, const Set*... set) {
  return code == MPI_SUCCESS && (... && (set != nullptr));
}
/// The same of one that begins an operation.
[[nodiscard]] inline bool has_begun(int code, const MPI_Request* request) {
  return has_set(code, request) && *request != MPI_REQUEST_NULL;
}
/// The same, and a flag is true.
[[nodiscard]] inline bool is_true(int code, const int* flag) {
  return has_set(code, flag) && *flag != 0;
}

// Operations that the program has begun and not completed: messages by the handles of their
// requests, and matched messages by theirs. Bounded, and used by all threads.

/// A handle of MPI's as a number.
template <class Handle>
[[nodiscard]] std::uint64_t key_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uint64_t>(handle);
  }
}

/// The variable of the program's that holds a handle.
template <class Handle>
[[nodiscard]] const void* place_of(const Handle* variable) {
  return static_cast<const void*>(variable);
}

/// A collective that completes by a request.
struct Begun {
  const char* collective = nullptr;      // null: it is a message
  int root = -1;                         // -1: it has none
  std::shared_ptr<std::uint64_t> calls;  // on its communicator
  std::uint64_t sequence = 0;
  const void* site = nullptr;

  /// It has begun now: ranks begin those of a communicator in the same order.
  void begin(const void* where) {
    sequence = (*calls)++;
    site = where;
  }
};

/// The messages of a call among neighbours, but for the times and the order.
using OwnMessages = std::vector<trace::Message>;

struct Pending {
  std::uint64_t key = 0;
  const void* place = nullptr;  // of the program's variable that got the handle
  trace::Message record;
  Begun begun;
  std::shared_ptr<const OwnMessages> among;  // null: it is not among neighbours
  int first = 0;                             // as described
  bool silent = false;     // not to be recorded: it is here since others may have its handle
  bool active = true;      // false: persistent, and not started
  bool cancelled = false;  // the program asked for that
  std::uint32_t next = 0;

  [[nodiscard]] bool is_persistent() const { return (record.flags & trace::Way::persistent) != 0; }
};

/// MPI libraries give one handle to many requests that were complete at once. Of those the one is
/// meant whose handle the program got in the same variable, else the oldest.
class PendingTable {
 public:
  /// Returns false if there is no room.
  bool add(const Pending& fresh);
  /// Takes out what this handle completes, once it is complete. Persistent ones stay, inactive.
  [[nodiscard]] std::optional<Pending> complete(std::uint64_t key, const void* place);
  /// Takes out what this handle stands for.
  [[nodiscard]] std::optional<Pending> erase(std::uint64_t key, const void* place);
  /// Changes what this handle stands for by `change`. Returns false if there is none.
  template <class Change>
  bool change(std::uint64_t key, const void* place, Change&& change) {
    const std::lock_guard hold(guard_);
    const Link found = find(key, place);
    if (found.at == kNone) return false;
    change(pool_[found.at]);
    return true;
  }
  /// Calls `use` with each.
  template <class Use>
  void for_each(Use&& use) {
    const std::lock_guard hold(guard_);
    for (const Chain& chain : chains_) {
      for (std::uint32_t at = chain.first; at != kNone; at = pool_[at].next) use(pool_[at]);
    }
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::uint32_t kMost = 1 << 20;
  static constexpr int kAlike = 32;  // of one handle: so many are looked at

  struct Chain {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };
  struct Link {
    std::uint32_t at = kNone;
    std::uint32_t before = kNone;  // in its chain
  };
  [[nodiscard]] Chain& chain_of(std::uint64_t key);
  [[nodiscard]] Link find(std::uint64_t key, const void* place);
  [[nodiscard]] std::uint32_t free_place();
  void append(std::uint32_t at);
  void grow();
  Pending take(Link link);

  std::mutex guard_;
  std::vector<Chain> chains_;  // as many as a power of two; none before the first entry
  std::vector<Pending> pool_;
  std::uint32_t free_ = kNone;  // the first free place of the pool
  std::uint32_t used_ = 0;
};

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
  trace::recorder()->lose_message(0);  // which one is not known
}

[[nodiscard]] std::int64_t bytes_of(const Data& data);
/// False: MPI has passed nothing, though MPICH says that all is well after an error handler.
[[nodiscard]] inline bool are_data(const Data& data, int tag) {
  return data.type != MPI_DATATYPE_NULL && data.count >= 0 && (tag >= 0 || tag == MPI_ANY_TAG);
}
/// Sets what is known of an operation when it begins. Returns the member of the communicator that
/// is rank 0 for the program, of two groups that of the other one; nothing: it is not recorded.
/// After an error handler of the program MPICH says that all is well, so `to` may be wrong.
[[nodiscard]] std::optional<int> describe(trace::Message& record, const Posting& posting,
                                          const To& to);
void set_wildcards(trace::Message& record, const To& from);
/// Sets what came. `first`: as described.
void set_from(trace::Message& record, const MPI_Status& status, int first);

void write(trace::Message record, const Ending& ending);
/// One that the program does not call a message.
[[nodiscard]] trace::Message own_message(What what, std::uint32_t communicator,
                                         trace::OwnTag::Tag tag, int peer, std::int64_t bytes);
/// The first of so many orders, for as many messages.
[[nodiscard]] inline std::uint32_t next_orders(std::size_t count) {
  return unseen::next_message.fetch_add(static_cast<std::uint32_t>(count),
                                        std::memory_order_relaxed);
}
/// Those that were begun then, with orders from `first` on.
void write(const OwnMessages& messages, std::int64_t posted, std::uint32_t first,
           const Ending& ending);
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
  outside::entered();
  unseen::write();
  recorded = false;
  return trace::now_ns();
}
/// The same of one that tests.
[[nodiscard]] inline std::int64_t enter_test() {
  outside::entered();
  recorded = false;
  return trace::now_ns();
}
/// A call that began then, and may have waited, has ended. If nothing of it is recorded, its time
/// is, as of these kinds of trace::OtherCalls.
void ended(std::int64_t begin, std::uint8_t calls = trace::OtherCalls::messages);
/// A call that tests has ended; see ended().
inline void tested(std::int64_t begin) {
  if (recorded) return unseen::forget();
  unseen::add(trace::OtherCalls::polling, begin, trace::now_ns());
}

}  // namespace latecomer::messages
