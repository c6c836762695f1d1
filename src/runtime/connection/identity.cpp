#include "runtime/connection/identity.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>

#include "base/hash.hpp"

namespace latecomer {
namespace {

/// The attribute of a named communicator.
struct Named {
  std::uint64_t name = 0;
  std::atomic<std::uint64_t> children{0};
  std::mutex guard;
  std::map<std::uint64_t, std::uint64_t> of_groups;  // children by their ranks and tag
};

int forget(MPI_Comm, int, void* named, void*) {
  delete static_cast<Named*>(named);
  return MPI_SUCCESS;
}

int make_keyval() {
  int keyval = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, nullptr);
  return keyval;
}

std::atomic<int> keyval_of_names{MPI_KEYVAL_INVALID};  // until MPI_COMM_WORLD is named

Named* find(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL || keyval_of_names == MPI_KEYVAL_INVALID) return nullptr;
  void* found = nullptr;
  int flag = 0;
  PMPI_Comm_get_attr(comm, keyval_of_names, static_cast<void*>(&found), &flag);
  return flag != 0 ? static_cast<Named*>(found) : nullptr;
}

void name(MPI_Comm comm, std::uint64_t name) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  if (ranks == 1) return;  // it has nobody to meet
  auto named = std::make_unique<Named>();
  named->name = name;
  if (PMPI_Comm_set_attr(comm, keyval_of_names, named.get()) == MPI_SUCCESS) {
    (void)named.release();  // the attribute's
  }
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const std::uint64_t words[] = {a, b, c};
  return fnv1a(std::span(words));
}

/// The places of the communicator's ranks in MPI_COMM_WORLD.
std::vector<int> places_of(MPI_Comm comm) {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  int size = 0;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Comm_group(comm, &group);
  PMPI_Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> places(ranks.size());
  PMPI_Group_translate_ranks(group, size, ranks.data(), world, places.data());
  PMPI_Group_free(&world);
  PMPI_Group_free(&group);
  return places;
}

}  // namespace

void name_world() {
  keyval_of_names = make_keyval();
  name(MPI_COMM_WORLD, 1);
}

void name_child(MPI_Comm parent, MPI_Comm child) {
  Named* const named = find(parent);
  if (named == nullptr) return;
  const std::uint64_t number = ++named->children;
  if (child != MPI_COMM_NULL) name(child, mixed(named->name, number, 0));
}

void name_child_of_group(MPI_Comm parent, int tag, MPI_Comm child) {
  Named* const named = find(parent);
  if (named == nullptr || child == MPI_COMM_NULL) return;
  const std::vector<int> places = places_of(child);
  const std::uint64_t which = mixed(fnv1a(std::span(places)), static_cast<std::uint64_t>(tag), 1);
  const std::lock_guard hold(named->guard);
  name(child, mixed(named->name, which, ++named->of_groups[which]));
}

bool has_identity(MPI_Comm comm) { return find(comm) != nullptr; }

std::optional<Identity> identity_of(MPI_Comm comm) {
  const Named* const named = find(comm);
  if (named == nullptr) return std::nullopt;
  std::vector<int> places = places_of(comm);
  constexpr int kNowhere = MPI_UNDEFINED;
  if (std::find(places.begin(), places.end(), kNowhere) != places.end()) return std::nullopt;
  int me = 0;
  PMPI_Comm_rank(comm, &me);
  return Identity{named->name, std::make_shared<const Members>(std::move(places)), me};
}

}  // namespace latecomer
