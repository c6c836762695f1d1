#include "runtime/connection/shared_comm.hpp"

#include <memory>
#include <mutex>

#include "runtime/connection/internal_comm.hpp"

namespace latecomer::shared_comm {
namespace {

constexpr int kTagsOfSlot =
    2048;  // of 32768 at least: 15 slots; of MPI libraries' usual: thousands

struct Shared {
  std::mutex guard;
  std::unique_ptr<const Link> whole;
  Slots slots;
};

Shared& shared() {
  static auto& made = *new Shared;  // communicators may be used after static objects
  return made;
}

}  // namespace

int make() {
  MPI_Comm comm = MPI_COMM_NULL;
  const int code = make_beside(MPI_COMM_WORLD, comm);
  if (code == MPI_SUCCESS) shared().whole = std::make_unique<const Link>(comm);
  return code;
}

bool exists() { return shared().whole != nullptr; }

const Link& link() { return *shared().whole; }

Slot propose(Slot above) {
  Shared& all = shared();
  const std::lock_guard hold(all.guard);
  return all.slots.propose(above);
}

bool take(Slot slot) {
  Shared& all = shared();
  const std::lock_guard hold(all.guard);
  const bool there = (slot + 1) * kTagsOfSlot <= static_cast<Slot>(all.whole->tags());
  return there && all.slots.take(slot);
}

void give_back(Slot slot) {
  Shared& all = shared();
  const std::lock_guard hold(all.guard);
  all.slots.give_back(slot);
}

Link link_of(Slot slot, std::shared_ptr<const Members> members, Rank me) {
  const int first = static_cast<int>(slot) * kTagsOfSlot;
  return {link().comm(), std::move(members), me, first, kTagsOfSlot};
}

}  // namespace latecomer::shared_comm
