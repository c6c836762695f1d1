#include "dropin/windows_and_files.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/call/call.hpp"
#include "runtime/trace/tracer.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer::objects {
namespace {

using trace::OwnTag;
using trace::What;
using Ranks = std::vector<int>;

/// What is known of an object of several ranks.
struct Kept {
  std::uint32_t communicator = 0;  // its id in the trace
  std::uint64_t calls = 0;         // collectives on it so far
  Ranks origins;                   // whose epochs a window is open to
  Ranks targets;                   // of this rank's epoch
};
using KeptHere = std::shared_ptr<Kept>;

/// All threads use it.
class Objects {
 public:
  [[nodiscard]] KeptHere find(const Object& object) {
    const std::lock_guard hold(guard_);
    const auto found = kept_.find(object);
    return found == kept_.end() ? nullptr : found->second;
  }
  void put(const Object& object, KeptHere kept) {
    const std::lock_guard hold(guard_);
    kept_[object] = std::move(kept);
  }
  void erase(const Object& object) {
    const std::lock_guard hold(guard_);
    kept_.erase(object);
  }

 private:
  std::mutex guard_;
  std::map<Object, KeptHere> kept_;
};

/// Calls may come after static objects.
Objects& objects() {
  static auto& made = *new Objects;
  return made;
}

template <class Native>
int together(const KeptHere& kept, const Object& object, const char* name, std::int64_t bytes,
             const void* site, Native&& native) {
  std::optional<trace::TracedCall> call;
  if (kept != nullptr) {
    unseen::write();
    messages::recording([&] { call.emplace(kept->communicator, kept->calls, name, bytes, site); });
  }
  if (!call) return unseen::in(object.kind, site, native);
  const int code = native();
  if (is_refusal(code)) {
    call->withdraw();
  } else {
    call->end(code == MPI_SUCCESS ? trace::Served::other : trace::Served::failed);
  }
  return code;
}

/// The ranks of a group in a window's communicator; -1 for others. Open MPI takes MPI_GROUP_NULL
/// for an empty one. MPICH says that all is well after an error handler of the program, so it may
/// be none.
Ranks ranks_of(MPI_Group group, MPI_Win win) {
  if (group == MPI_GROUP_NULL) return {};
  const ReturnedErrorsEverywhere no_handler;
  int size = 0;
  PMPI_Group_size(group, &size);
  Ranks own(static_cast<std::size_t>(size));
  std::iota(own.begin(), own.end(), 0);
  Ranks found(own.size(), -1);
  MPI_Group all = MPI_GROUP_NULL;
  PMPI_Win_get_group(win, &all);
  PMPI_Group_translate_ranks(group, size, own.data(), all, found.data());
  PMPI_Group_free(&all);
  return found;
}

/// Records what a call that has ended now sends to these ranks, or receives.
void record(const Kept& kept, What what, OwnTag::Tag tag, const Ranks& ranks,
            const unseen::Polled& since, const void* site) {
  const messages::Ending ending = messages::ending(since, site);
  for (const int rank : ranks) {
    if (rank < 0) continue;
    trace::Message each = messages::own_message(what, kept.communicator, tag, rank, 0);
    each.posted = since.begin - since.between;
    each.order = messages::next_orders(1);
    messages::write(each, ending);
  }
}
/// Those whose epochs the window was open to have ended them.
void origins_ended(Kept& kept, const unseen::Polled& since, const void* site) {
  record(kept, What::receive, OwnTag::window_complete, kept.origins, since, site);
  kept.origins.clear();
}

/// Runs a call on a window, and where it has success `done(kept, since when)`.
template <class Native, class Done>
int in_epoch(MPI_Win win, const void* site, Native&& native, Done&& done) {
  const KeptHere kept = objects().find(window(win));
  if (kept == nullptr) return unseen::in(trace::OtherCalls::windows, site, native);
  const std::int64_t begin = messages::enter_wait();
  const unseen::Inside inside(trace::OtherCalls::windows, begin, site);
  const int code = native();
  if (code == MPI_SUCCESS) {
    messages::recording([&] { done(*kept, unseen::Polled{begin, 0}); });
  }
  messages::ended(begin, trace::OtherCalls::windows);
  return code;
}

}  // namespace

int together(const Object& object, const char* name, std::int64_t bytes, const void* site,
             int (*native)(const void*), const void* data) {
  return together(objects().find(object), object, name, bytes, site, [&] { return native(data); });
}

int made(MPI_Comm comm, const Object& object, int code) {
  const bool is_none = object == window(MPI_WIN_NULL) || object == file(MPI_FILE_NULL);
  if (code != MPI_SUCCESS || is_none) return code;
  messages::recording([&] {
    const char* const kind = object.kind == trace::OtherCalls::files ? "file" : "window";
    const std::uint32_t id = trace::made_of(comm, kind);
    if (id == trace::TracedComm::kNone) return;
    auto kept = std::make_shared<Kept>();
    kept->communicator = id;
    objects().put(object, std::move(kept));
  });
  return code;
}

int end(const Object& object, const char* name, const void* site, int (*native)(const void*),
        const void* data) {
  KeptHere kept = objects().find(object);
  if (kept != nullptr) objects().erase(object);  // another thread may get the handle
  const int code = together(kept, object, name, -1, site, [&] { return native(data); });
  if (kept != nullptr && code != MPI_SUCCESS) {
    messages::recording([&] { objects().put(object, std::move(kept)); });
  }
  return code;
}

int win_post(decltype(&PMPI_Win_post) native, MPI_Group group, int assert, MPI_Win win,
             const void* site) {
  return in_epoch(
      win, site, [&] { return native(group, assert, win); },
      [&](Kept& kept, const unseen::Polled& since) {
        kept.origins = ranks_of(group, win);
        if ((assert& MPI_MODE_NOCHECK) != 0) return;
        record(kept, What::send, OwnTag::window_post, kept.origins, since, site);
      });
}

int win_start(decltype(&PMPI_Win_start) native, MPI_Group group, int assert, MPI_Win win,
              const void* site) {
  return in_epoch(
      win, site, [&] { return native(group, assert, win); },
      [&](Kept& kept, const unseen::Polled& since) {
        kept.targets = ranks_of(group, win);
        if ((assert& MPI_MODE_NOCHECK) != 0) return;
        record(kept, What::receive, OwnTag::window_post, kept.targets, since, site);
      });
}

int win_complete(decltype(&PMPI_Win_complete) native, MPI_Win win, const void* site) {
  return in_epoch(
      win, site, [&] { return native(win); },
      [&](Kept& kept, const unseen::Polled& since) {
        record(kept, What::send, OwnTag::window_complete, kept.targets, since, site);
        kept.targets.clear();
      });
}

int win_wait(decltype(&PMPI_Win_wait) native, MPI_Win win, const void* site) {
  return in_epoch(
      win, site, [&] { return native(win); },
      [&](Kept& kept, const unseen::Polled& since) { origins_ended(kept, since, site); });
}

int win_test(decltype(&PMPI_Win_test) native, MPI_Win win, int* flag, const void* site) {
  const KeptHere kept = objects().find(window(win));
  const std::int64_t begin = messages::enter_test();
  const unseen::Polled since = unseen::polled(begin);
  const int code = native(win, flag);
  if (kept != nullptr && messages::is_true(code, flag)) {
    messages::recording([&] { origins_ended(*kept, since, site); });
  }
  messages::tested(begin);
  return code;
}

}  // namespace latecomer::objects
