#include "runtime/connection/identity.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "base/reproducible.hpp"
#include "base/threads.hpp"
#include "transports/mpi/communicators.hpp"

namespace latecomer {
namespace {

/// The attribute of a named communicator.
struct Named {
  Named(std::uint64_t its, bool has_two_groups) : name(its), two_groups(has_two_groups) {}

  std::uint64_t name;
  bool two_groups;
  MPI_Comm handle = MPI_COMM_NULL;  // that handles() finds it by
  bool is_sought = false;           // a duplicate, whose handle MPI has not told yet
  bool is_lost = false;             // by lose_identity()
  std::atomic<std::uint64_t> children{0};
  std::mutex guard;
  std::map<std::uint64_t, std::uint64_t> of_groups;  // children by their ranks and words
};

/// The named communicators by their handles. MPI is not asked, which would call the program's error
/// handler, in the name of another function, for a handle that is no communicator's.
class Handles {
 public:
  void add(MPI_Comm comm, Named* named) {
    const std::lock_guard hold(guard_);
    if (std::exchange(named->is_sought, false)) --sought_;
    named->handle = comm;
    all_[comm] = named;
  }
  void remove(Named* named) {
    const std::lock_guard hold(guard_);
    if (std::exchange(named->is_sought, false)) --sought_;
    const auto found = all_.find(named->handle);
    if (found != all_.end() && found->second == named) all_.erase(found);
  }
  [[nodiscard]] Named* find(MPI_Comm comm) {
    const std::shared_lock hold(guard_);
    const auto found = all_.find(comm);
    return found != all_.end() ? found->second : nullptr;
  }
  /// A duplicate that MPI has begun to make: MPI alone knows its handle, until it is found.
  void seek(Named* named) {
    named->is_sought = true;
    ++sought_;
  }
  [[nodiscard]] bool are_all() const { return sought_ == 0; }

 private:
  std::atomic<int> sought_{0};
  std::shared_mutex guard_;
  std::unordered_map<MPI_Comm, Named*> all_;
};
Handles& handles() { return lasting<Handles>(); }

/// The duplicate that this thread has begun to make.
struct Duplicate {
  const void* parent = nullptr;  // whose attribute; null: none is made
  std::uint64_t name = 0;
};
constinit thread_local Duplicate duplicate;

/// MPI copies the attributes of a communicator when a duplicate is begun.
// NOLINTNEXTLINE(misc-const-correctness): MPI's signature
int hand_on(MPI_Comm, int, void*, void* parent, void* child, int* flag) {
  *flag = 0;
  if (parent != duplicate.parent) return MPI_SUCCESS;
  auto* const made =
      new (std::nothrow) Named(duplicate.name, static_cast<const Named*>(parent)->two_groups);
  *static_cast<void**>(child) = made;
  *flag = made != nullptr ? 1 : 0;
  if (made != nullptr) handles().seek(made);
  return MPI_SUCCESS;
}

int forget(MPI_Comm, int, void* named, void*) {
  handles().remove(static_cast<Named*>(named));
  delete static_cast<Named*>(named);
  return MPI_SUCCESS;
}

int make_keyval() {
  int keyval = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(hand_on, forget, &keyval, nullptr);
  return keyval;
}

std::atomic<int> keyval_of_names{MPI_KEYVAL_INVALID};  // until MPI_COMM_WORLD is named

Named* find(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL || keyval_of_names == MPI_KEYVAL_INVALID) return nullptr;
  Named* const known = handles().find(comm);
  if (known != nullptr || handles().are_all()) return known;
  void* found = nullptr;
  int flag = 0;
  PMPI_Comm_get_attr(comm, keyval_of_names, static_cast<void*>(&found), &flag);
  if (flag == 0 || static_cast<const Named*>(found)->is_lost) return nullptr;
  handles().add(comm, static_cast<Named*>(found));
  return static_cast<Named*>(found);
}

void name(MPI_Comm comm, std::uint64_t name) {
  const bool two_groups = has_two_groups(comm);
  if (ranks_of(comm) == 1 && !two_groups) return;  // it has nobody to meet
  auto named = std::make_unique<Named>(name, two_groups);
  if (PMPI_Comm_set_attr(comm, keyval_of_names, named.get()) == MPI_SUCCESS) {
    handles().add(comm, named.release());  // the attribute's
  }
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const std::uint64_t words[] = {a, b, c};
  return fnv1a(std::span(words));
}

}  // namespace

Places places_of(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  Places places{places_in_world(group)};
  if (has_two_groups(comm)) {
    PMPI_Comm_remote_group(comm, &group);
    std::vector<int> others = places_in_world(group);
    if (others < places.all) {
      places.own = others.size();
      std::swap(others, places.all);
    }
    places.all.insert(places.all.end(), others.begin(), others.end());
  }
  if (std::ranges::find(places.all, -1) != places.all.end()) places.all.clear();
  return places;
}

std::uint64_t name_of(MPI_Comm comm) {
  const Named* const named = find(comm);
  return named != nullptr ? named->name : 0;
}

void name_world() {
  keyval_of_names = make_keyval();
  name(MPI_COMM_WORLD, 1);
}

void name_child(MPI_Comm parent, MPI_Comm child) {
  Named* const named = find(parent);
  if (named == nullptr) return name_by_ranks(MPI_COMM_WORLD, 0, child);
  const std::uint64_t number = ++named->children;
  if (child != MPI_COMM_NULL) name(child, mixed(named->name, number, 0));
}

void name_by_ranks(MPI_Comm parent, std::uint64_t words, MPI_Comm child) {
  Named* named = find(parent);
  if (named == nullptr) named = find(MPI_COMM_WORLD);
  if (named == nullptr || child == MPI_COMM_NULL) return;
  const std::vector<int> places = places_of(child).all;
  if (places.empty()) return;
  const std::uint64_t which = mixed(fnv1a(std::span(places)), words, 1);
  const std::lock_guard hold(named->guard);
  name(child, mixed(named->name, which, ++named->of_groups[which]));
}

Duplicating::Duplicating(MPI_Comm parent) {
  Named* const named = find(parent);
  if (named != nullptr) duplicate = {named, mixed(named->name, ++named->children, 0)};
}

Duplicating::~Duplicating() { duplicate = {}; }

bool has_identity(MPI_Comm comm) {
  const Named* const named = find(comm);
  return named != nullptr && !named->two_groups;
}

bool lose_identity(MPI_Comm comm) {
  Named* const named = find(comm);
  if (named == nullptr) return false;
  named->is_lost = true;
  handles().remove(named);
  return true;
}

std::optional<Identity> identity_of(MPI_Comm comm) {
  const Named* const named = find(comm);
  if (named == nullptr || named->two_groups) return std::nullopt;
  return Identity{named->name, std::make_shared<const Members>(places_of(comm).all), rank_in(comm)};
}

}  // namespace latecomer
