#include "runtime/attachment.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "base/arithmetic.hpp"
#include "base/error.hpp"
#include "base/threads.hpp"
#include "runtime/connection/identity.hpp"
#include "runtime/connection/meeting.hpp"
#include "runtime/connection/node_sharing.hpp"
#include "runtime/connection/predecessors.hpp"
#include "runtime/progress/async_progress.hpp"
#include "runtime/progress/progress_thread.hpp"
#include "runtime/report/ledger.hpp"
#include "runtime/settings/defaults.hpp"
#include "runtime/settings/environment.hpp"
#include "runtime/settings/settings.hpp"
#include "runtime/settings/wisdom_file.hpp"
#include "transports/mpi/communicators.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {
namespace {

/// Counts freed states, so that a thread can tell whether the state that it used last still exists.
std::atomic<std::uint64_t> gone{0};
std::atomic<std::size_t> living{0};  // states

/// The last call of this thread.
struct Last {
  MPI_Comm comm = MPI_COMM_NULL;
  CommState* state = nullptr;
  std::uint64_t gone_then = 0;

  [[nodiscard]] bool was_on(MPI_Comm now) const {
    return comm == now && state != nullptr && gone_then == gone.load(std::memory_order_acquire);
  }
};
thread_local Last last;

/// Communicators whose state was freed: delete functions of the program's own attributes may still
/// make calls on them. A state attached then would never be freed, and MPICH would crash. A new
/// communicator may get the handle of an old one: the dying one has lost its identity, or, if it
/// had none, is marked in its name.
class Dying {
 public:
  void add(MPI_Comm comm) {
    const std::lock_guard hold(guard_);
    const bool is_marked = !lose_identity(comm);
    handles_[comm] = is_marked;
    if (!is_marked) return;
    const std::string name = name_in_mpi(comm);
    PMPI_Comm_set_name(comm, (name.substr(0, MPI_MAX_OBJECT_NAME - 2) + kMark).c_str());
  }
  [[nodiscard]] bool contains(MPI_Comm comm) {
    const std::lock_guard hold(guard_);
    const auto found = handles_.find(comm);
    if (found == handles_.end()) return false;
    if (found->second ? name_in_mpi(comm).ends_with(kMark) : name_of(comm) == 0) return true;
    handles_.erase(found);
    return false;
  }

 private:
  static constexpr char kMark = '\x7f';

  std::mutex guard_;
  std::map<MPI_Comm, bool> handles_;  // and whether they are marked
};

int free_state(MPI_Comm comm, int, void* state, void*) {
  ++gone;
  --living;
  delete static_cast<CommState*>(state);
  (void)if_memory([&] { lasting<Dying>().add(comm); });
  return MPI_SUCCESS;
}

int make_keyval() {
  int keyval = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_state, &keyval, nullptr);
  return keyval;
}

int state_keyval() {
  static const int keyval = make_keyval();
  return keyval;
}

CommState* find_state(MPI_Comm comm) {
  void* found = nullptr;
  int flag = -1;  // stays where MPI refuses: after a user's error handler MPICH returns no error
  const int code = UserCode::run(
      [&] { return PMPI_Comm_get_attr(comm, state_keyval(), static_cast<void*>(&found), &flag); });
  if (flag < 0) throw RefusedByMpi{code == MPI_SUCCESS ? MPI_ERR_COMM : code};
  return flag != 0 ? static_cast<CommState*>(found) : nullptr;
}

int attach(MPI_Comm comm, CommState& state) {
  return UserCode::run([&] { return PMPI_Comm_set_attr(comm, state_keyval(), &state); });
}

/// Threads that only pass messages may be the first on a communicator at the same time.
std::mutex making;

CommState& make_state(MPI_Comm comm) {
  const OwnArithmetic arithmetic;  // also for numbers that are read
  (void)end_with_mpi(forget_last);
  const std::lock_guard hold(making);
  if (CommState* const other = find_state(comm)) return *other;
  auto fresh = std::make_unique<CommState>(comm);
  if (attach(comm, *fresh) != MPI_SUCCESS) {
    throw std::runtime_error("communicator: MPI_Comm_set_attr failed, which latecomer needs");
  }
  ledger_open(*fresh);
  wisdom_open(*fresh);
  ++living;
  return *fresh.release();
}

}  // namespace

CommState::CommState(MPI_Comm user)
    : comm(user), rank(rank_in(user)), ranks(ranks_of(user)), chooser(rank, ranks) {
  const bool alone = defaults().leaves_alone != nullptr && defaults().leaves_alone(user);
  if (!alone) {
    chooser.policy() = defaults().policy;
    identity = identity_of(user);
  }
  chooser.policy().rules = default_rules();
  if (ranks == 1) chooser.policy().online = false;
  chooser.policy().network = with_handshake(default_network());
  chooser.policy().reproducible = environment_flag("LATECOMER_REPRODUCIBLE");
  per_node = ranks_per_node();
  (void)progress_mode();  // what is wrong with it is said here, as of the others
  intercommunicator = has_two_groups(comm);
}

/// Waits for no other rank; at the end of MPI, for some seconds at most, for those that are a block
/// of calls behind.
CommState::~CommState() {
  (void)if_memory([this] {
    if (!resources) return;
    const auto waits = [this] {
      if (!mpi_ends()) return false;
      const std::lock_guard hold(lock);  // the progress thread may tell of a failure
      return broken.empty() && !resources->failures.check();
    };
    resources->end_blocks(waits());
  });
  (void)if_memory([this] { ledger_close(*this); });
  (void)if_memory([this] { wisdom_close(*this); });
  bool left = false;
  (void)if_memory([&] { left = leave_to_successor(*this); });
  if (!left) async_progress.reset();
}

int CommState::ensure_resources() {
  if (resources) return MPI_SUCCESS;
  Introduction mine = introduction_of_place();
  mine.progress = progress_mode();
  if (mine.progress == ProgressMode::thread && !ProgressThread::instance().start()) {
    mine.progress = ProgressMode::not_allowed;
  }
  mine.per_node = per_node;
  mine.device = passed_device_memory ? 1 : 0;
  mine.settings = hashes_of(*this);
  Introductions all;
  std::unique_ptr<InternalComm> internal;
  int code = identity ? link_by_meeting(*this, *identity, mine, all, internal)
                      : InternalComm::make(comm, internal);
  resources_failed = code != MPI_SUCCESS;
  if (resources_failed) return code;
  if (!identity) code = introduce(internal->link().comm(), mine, all);
  if (code != MPI_SUCCESS) {
    internal->keep();  // freeing it is for all ranks, and some may not
    return code;
  }
  resources = std::make_unique<CommResources>(std::move(internal), all, rank, tuning.piece_limit);
  chooser.connected(resources->number);
  chooser.place(resources->placement);
  if (all_have_progress_threads(all, comm, rank)) {
    async_progress = std::make_unique<AsyncProgress>(*this);
  }
  return MPI_SUCCESS;
}

CommState& state_of(MPI_Comm comm) {
  if (CommState* const found = find_state(comm)) return *found;
  return make_state(comm);
}

bool used_last(MPI_Comm comm) { return last.was_on(comm); }

void forget_last() { ++gone; }

CommState* existing_state(MPI_Comm comm) {
  if (last.was_on(comm)) return last.state;
  return comm == MPI_COMM_NULL ? nullptr : find_state(comm);
}

CommState* state_for_call(MPI_Comm comm) {
  if (last.was_on(comm)) return last.state;
  if (comm == MPI_COMM_NULL) return nullptr;
  const std::uint64_t now = gone.load(std::memory_order_acquire);
  CommState* state = find_state(comm);
  if (state == nullptr) {
    if (living >= defaults().most_states || lasting<Dying>().contains(comm)) return nullptr;
    state = &make_state(comm);
  }
  last = {comm, state, now};
  return state;
}

}  // namespace latecomer
