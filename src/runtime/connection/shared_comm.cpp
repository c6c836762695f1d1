#include "runtime/connection/shared_comm.hpp"

#include <algorithm>
#include <mutex>
#include <set>

#include "runtime/connection/internal_comm.hpp"

namespace latecomer::shared_comm {
namespace {

constexpr int kTagsOfSlot =
    2048;  // of 32768 at least: 15 slots; of MPI libraries' usual: thousands

struct Shared {
  std::mutex guard;
  std::optional<Link> whole;
  Slot next = 1;         // to propose
  Slot first_free = 1;   // all below it are taken, ...
  std::set<Slot> taken;  // ... and these above it

  [[nodiscard]] bool is_taken(Slot slot) const { return slot < first_free || taken.contains(slot); }
};

Shared& shared() {
  static auto& made = *new Shared;  // communicators may be used after static objects
  return made;
}

}  // namespace

int make() {
  MPI_Comm comm = MPI_COMM_NULL;
  const int code = make_beside(MPI_COMM_WORLD, comm);
  if (code == MPI_SUCCESS) shared().whole.emplace(comm);
  return code;
}

bool exists() { return shared().whole.has_value(); }

const Link& link() { return *shared().whole; }

Slot propose(Slot above) {
  Shared& all = shared();
  const std::lock_guard hold(all.guard);
  all.next = std::max(all.next, above + 1);
  while (all.is_taken(all.next)) ++all.next;
  return all.next++;
}

bool take(Slot slot) {
  Shared& all = shared();
  const std::lock_guard hold(all.guard);
  const bool there = (slot + 1) * kTagsOfSlot <= static_cast<Slot>(all.whole->tags());
  if (!there || all.is_taken(slot)) return false;
  all.taken.insert(slot);
  while (all.taken.erase(all.first_free) != 0) ++all.first_free;
  return true;
}

void give_back(Slot slot) {
  Shared& all = shared();
  const std::lock_guard hold(all.guard);
  if (slot >= all.first_free) all.taken.erase(slot);
}

Link link_of(Slot slot, std::shared_ptr<const Members> members, Rank me) {
  const int first = static_cast<int>(slot) * kTagsOfSlot;
  return {link().comm(), std::move(members), me, first, kTagsOfSlot};
}

}  // namespace latecomer::shared_comm
