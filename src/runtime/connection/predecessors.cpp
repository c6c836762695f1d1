#include "runtime/connection/predecessors.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/reproducible.hpp"
#include "base/threads.hpp"
#include "runtime/progress/async_progress.hpp"
#include "runtime/progress/progress_thread.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {

struct Predecessor {
  std::uint64_t ranks;  // fingerprint
  StateHash state_hash;
  Chooser chooser;
  Settings settings;
  bool threads;  // all ranks have progress threads
  std::uint64_t calls;
  std::unique_ptr<CommResources> resources;  // null: there was none
  ClockRefresh clock_refresh;
  int refused = 0;         // offers that not all ranks agreed to
  bool remembered = true;  // it has more than resources

  /// Drops all knowledge but the arrivals, once. That changes the state hash.
  void forget() {
    if (!std::exchange(remembered, false)) return;
    Chooser fresh(chooser.rank(), chooser.ranks());
    fresh.policy() = std::move(chooser.policy());
    fresh.connected(state_hash);
    fresh.take_over_watch(std::move(chooser));
    state_hash = fresh.state_hash();
    chooser = std::move(fresh);
  }
};

namespace {

using Left = std::unique_ptr<Predecessor>;

class Predecessors {
 public:
  void add(Left left) {
    Left surplus;
    const std::lock_guard hold(guard_);
    all_.push_back(std::move(left));
    if (all_.size() > kMax) {
      surplus = std::move(all_.front());
      all_.pop_front();
    }
    if (all_.size() <= kRemembered) return;
    all_[all_.size() - 1 - kRemembered]->forget();
  }
  /// Takes the first predecessor that fits; null if there is none. Ranks with the same ones, in any
  /// order, take the same one.
  template <class Fits>
  Left take(Fits&& fits) {
    const std::lock_guard hold(guard_);
    auto best = all_.end();
    for (auto each = all_.begin(); each != all_.end(); ++each) {
      if (!fits(**each)) continue;
      if (best == all_.end() || order(**each) < order(**best)) best = each;
    }
    if (best == all_.end()) return nullptr;
    Left taken = std::move(*best);
    all_.erase(best);
    return taken;
  }
  /// Gives one back that not all ranks have: another one is offered first the next time.
  void give_back(Left left) {
    const std::lock_guard hold(guard_);
    ++left->refused;
    if (all_.size() < kMax) all_.push_front(std::move(left));
  }
  /// True until the end of MPI.
  [[nodiscard]] bool open() {
    const std::lock_guard hold(guard_);
    return open_;
  }
  void open_until_finalize() {
    const std::lock_guard hold(guard_);
    open_ = open_ || end_with_mpi(end_predecessors);
  }
  void clear() {
    const std::lock_guard hold(guard_);
    all_.clear();
  }
  void close() {
    clear();
    const std::lock_guard hold(guard_);
    open_ = false;
  }

 private:
  static std::tuple<int, StateHash> order(const Predecessor& one) {
    return {one.refused, one.state_hash};
  }

  static constexpr std::size_t kMax = 64;
  static constexpr std::size_t kRemembered = 8;  // with more than resources

  std::mutex guard_;
  bool open_ = false;
  std::deque<Left> all_;
};
Predecessors& predecessors() { return lasting<Predecessors>(); }

/// A fingerprint of the ranks' processes: a few of them distinguish most groups, and the state hash
/// distinguishes all.
std::uint64_t fingerprint(MPI_Comm comm, Rank me, Rank ranks) {
  const std::array<int, 4> some = {0, 1 % ranks, ranks / 2, ranks - 1};
  std::array<int, 6> known = {me, ranks};
  int initialized = 0;  // not with sessions alone
  PMPI_Initialized(&initialized);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  if (initialized != 0 && PMPI_Comm_group(comm, &group) == MPI_SUCCESS) {
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, static_cast<int>(some.size()), some.data(), world,
                               known.data() + 2);
    PMPI_Group_free(&world);
    PMPI_Group_free(&group);
  }
  return fnv1a({reinterpret_cast<const char*>(known.data()), sizeof known});
}

}  // namespace

bool leave_to_successor(CommState& state) {
  const StateHash state_hash = state.chooser.state_hash();
  const bool usable = state.broken.empty() && !state.resources_failed && !state.reviews_missed &&
                      state.settings != Settings::different;
  if (state_hash == 0 || !usable || !predecessors().open()) return false;
  const bool threads = state.async_progress != nullptr;
  if (threads) {
    const std::lock_guard hold(state.lock);
    if (!state.async_progress->idle()) return false;
  }
  state.async_progress.reset();
  const auto ranks = fingerprint(state.comm, state.rank, state.ranks);
  predecessors().add(std::make_unique<Predecessor>(
      Predecessor{ranks, state_hash, std::move(state.chooser), state.settings, threads, state.calls,
                  std::move(state.resources), state.clock_refresh}));
  return true;
}

void forget_predecessors() { predecessors().clear(); }

void end_predecessors() { predecessors().close(); }

Inheritance::Inheritance(CommState& state, Of what) : state_(state), what_(what) {
  const bool known =
      what == Of::resources ? state.resources != nullptr : state.chooser.state_hash() != 0;
  const ProgressMode mode = progress_mode();
  if (known || mode == ProgressMode::not_allowed) return;
  const bool threads = mode == ProgressMode::thread;
  predecessors().open_until_finalize();
  const std::uint64_t ranks = fingerprint(state.comm, state.rank, state.ranks);
  predecessor_ = predecessors().take([&](const Predecessor& left) {
    if (left.ranks != ranks || left.threads != threads) return false;
    if (left.resources && left.resources->per_node != state.per_node) return false;
    return what == Of::resources ? left.resources != nullptr
                                 : left.chooser.policy() == state.chooser.policy();
  });
}

Inheritance::~Inheritance() {
  if (predecessor_) predecessors().give_back(std::move(predecessor_));
}

StateHash Inheritance::state_hash() const { return predecessor_ ? predecessor_->state_hash : 0; }

void Inheritance::accept() {
  const Left left = std::move(predecessor_);
  state_.resources = std::move(left->resources);
  state_.calls += left->calls;
  if (state_.resources) state_.resources->go_on_after(state_.calls);
  state_.clock_refresh = left->clock_refresh;
  state_.shortcuts.clear();
  if (left->threads) state_.async_progress = std::make_unique<AsyncProgress>(state_);
  if (what_ == Of::resources) {
    state_.chooser.connected(left->state_hash);
    state_.chooser.place(state_.resources->placement);
    return state_.chooser.take_over_watch(std::move(left->chooser));
  }
  state_.settings = left->settings;
  state_.chooser.take_over(std::move(left->chooser));
  if (state_.resources) state_.chooser.place(state_.resources->placement);
}

void take_over_resources(CommState& state) {
  if (state.resources) return;
  Inheritance inheritance(state, Inheritance::Of::resources);
  Review all;
  all.offer(inheritance.state_hash());
  const auto count = static_cast<int>(all.values().size());
  const int code = UserCode::run([&] {
    return PMPI_Allreduce(MPI_IN_PLACE, all.values().data(), count, MPI_DOUBLE, MPI_MIN,
                          state.comm);
  });
  if (code == MPI_SUCCESS && all.agreed()) inheritance.accept();
}

}  // namespace latecomer
