#include "dropin/windows_and_files.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/threads.hpp"
#include "runtime/call/call.hpp"
#include "runtime/trace/tracer.hpp"
#include "transports/mpi/communicators.hpp"

namespace latecomer::objects {
namespace {

using trace::OwnTag;
using trace::What;
using Ranks = std::vector<int>;

/// Facts of an object of several ranks.
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

Objects& objects() { return lasting<Objects>(); }

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

/// True if the window has an error handler of the program: after that MPICH says that all is well.
bool has_own_handler(MPI_Win win) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_Win_get_errhandler(win, &handler);
  const bool is_own = handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_RETURN;
  if (handler != MPI_ERRHANDLER_NULL) PMPI_Errhandler_free(&handler);
  return is_own;
}

/// The ranks of a group in a window's communicator; less than 0 for others. Open MPI takes
/// MPI_GROUP_NULL for an empty one. Where it may be no group, there are none.
Ranks ranks_of(MPI_Group group, MPI_Win win) {
  if (group == MPI_GROUP_NULL || has_own_handler(win)) return {};
  MPI_Group all = MPI_GROUP_NULL;
  PMPI_Win_get_group(win, &all);
  Ranks found = places_in(all, group);
  PMPI_Group_free(&all);
  return found;
}

/// Records the messages of a call, to these ranks or from them.
void record(const Kept& kept, What what, OwnTag::Tag tag, const Ranks& ranks,
            const messages::Ending& ending, const void* site) {
  for (const int rank : ranks) {
    if (rank < 0) continue;
    trace::Message each = messages::own_message(what, kept.communicator, tag, rank, 0);
    each.posted = ending.begin - ending.between;
    each.order = messages::next_orders(1);
    messages::write(each, {ending.begin, ending.end, site, ending.between});
  }
}
/// Those whose epochs the window was open to have ended them.
void origins_ended(Kept& kept, const messages::Ending& ending, const void* site) {
  record(kept, What::receive, OwnTag::window_complete, kept.origins, ending, site);
  kept.origins.clear();
}

/// Runs a call on a window, and where it has success `done(kept, its end)`.
template <class Native, class Done>
int in_epoch(MPI_Win win, const void* site, Native&& native, Done&& done) {
  const KeptHere kept = objects().find(window(win));
  if (kept == nullptr) return unseen::in(trace::OtherCalls::windows, site, native);
  const std::int64_t begin = messages::enter_wait();
  const unseen::Inside inside(trace::OtherCalls::windows, begin, site);
  const int code = native();
  const messages::Ending ending{begin, trace::now_ns(), site};
  if (code == MPI_SUCCESS) messages::recording([&] { done(*kept, ending); });
  messages::ended(begin, trace::OtherCalls::windows);
  return code;
}

/// MPI_Win_post or MPI_Win_start. `ranks`: the group's, until the epoch ends.
int open_epoch(decltype(&PMPI_Win_post) native, MPI_Group group, int claims, MPI_Win win,
               const void* site, What what, Ranks Kept::* ranks) {
  return in_epoch(
      win, site, [&] { return native(group, claims, win); },
      [&](Kept& kept, const messages::Ending& ending) {
        kept.*ranks = ranks_of(group, win);
        if ((claims & MPI_MODE_NOCHECK) != 0) return;
        record(kept, what, OwnTag::window_post, kept.*ranks, ending, site);
      });
}

}  // namespace

int together(const Object& object, const char* name, std::int64_t bytes, const void* site,
             int (*native)(const void*), const void* data) {
  return together(objects().find(object), object, name, bytes, site, [&] { return native(data); });
}

int made(MPI_Comm comm, const Object& object, int code) {
  if (is_refusal(code)) return code;  // the other ranks have made none
  messages::recording([&] {
    const bool is_file = object.kind == trace::OtherCalls::files;
    const bool is_there =
        code == MPI_SUCCESS && object != window(MPI_WIN_NULL) && object != file(MPI_FILE_NULL);
    const std::uint32_t id = trace::made_of(comm, is_file ? "file" : "window", is_there);
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

int win_post(decltype(&PMPI_Win_post) native, MPI_Group group, int claims, MPI_Win win,
             const void* site) {
  return open_epoch(native, group, claims, win, site, What::send, &Kept::origins);
}

int win_start(decltype(&PMPI_Win_start) native, MPI_Group group, int claims, MPI_Win win,
              const void* site) {
  return open_epoch(native, group, claims, win, site, What::receive, &Kept::targets);
}

int win_complete(decltype(&PMPI_Win_complete) native, MPI_Win win, const void* site) {
  return in_epoch(
      win, site, [&] { return native(win); },
      [&](Kept& kept, const messages::Ending& ending) {
        record(kept, What::send, OwnTag::window_complete, kept.targets, ending, site);
        kept.targets.clear();
      });
}

int win_wait(decltype(&PMPI_Win_wait) native, MPI_Win win, const void* site) {
  return in_epoch(
      win, site, [&] { return native(win); },
      [&](Kept& kept, const messages::Ending& ending) { origins_ended(kept, ending, site); });
}

int win_test(decltype(&PMPI_Win_test) native, MPI_Win win, int* flag, const void* site) {
  const KeptHere kept = objects().find(window(win));
  const std::int64_t begin = messages::enter_test();
  const unseen::Polled since = unseen::polled(begin);
  const int code = native(win, flag);
  if (kept != nullptr && messages::is_true(code, flag)) {
    const messages::Ending ending = messages::ending(since, site);
    messages::recording([&] { origins_ended(*kept, ending, site); });
  }
  messages::tested(begin);
  return code;
}

}  // namespace latecomer::objects
