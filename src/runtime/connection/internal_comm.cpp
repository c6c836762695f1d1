#include "runtime/connection/internal_comm.hpp"

#include <mutex>

#include "base/threads.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {
namespace {

/// The user's handler would end the program, where there is another way: the MPI library's own
/// collectives.
int create_returning_errors(MPI_Comm user, MPI_Group group, MPI_Comm& comm) {
  MPI_Errhandler users = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(user, &users);
  PMPI_Comm_set_errhandler(user, MPI_ERRORS_RETURN);
  const int code = PMPI_Comm_create(user, group, &comm);
  PMPI_Comm_set_errhandler(user, users);
  PMPI_Errhandler_free(&users);
  return code;
}

/// Makes a communicator of this group.
using Create = int (*)(MPI_Comm user, MPI_Group group, MPI_Comm& comm);

/// The user's handler may throw where MPI refuses to tell of the communicator.
int create(MPI_Comm user, Create create, MPI_Comm& comm) {
  MPI_Group group = MPI_GROUP_NULL;
  int code = PMPI_Comm_group(user, &group);
  if (code != MPI_SUCCESS) return code;
  code = create(user, group, comm);
  PMPI_Group_free(&group);
  if (code != MPI_SUCCESS) return code;
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  PMPI_Comm_set_name(comm, "latecomer");
  return code;
}

/// An MPI communicator of all ranks of `user`, which returns errors; null after an error, whose
/// code is returned. `how`: what makes it. MPI_Comm_dup would call the copy functions of the user's
/// attributes.
int make_beside(MPI_Comm user, Create how, MPI_Comm& comm) {
  return UserCode::run([&] { return create(user, how, comm); });
}

}  // namespace

int InternalComm::make(MPI_Comm user, std::unique_ptr<InternalComm>& made) {
  MPI_Comm comm = MPI_COMM_NULL;
  const int code = make_beside(user, create_returning_errors, comm);
  if (code != MPI_SUCCESS) return code;
  made.reset(new InternalComm(comm, true));
  return MPI_SUCCESS;
}

InternalComm::~InternalComm() {
  if (whole_ && keep_) return;
  --living_;
  if (!whole_) return;
  MPI_Comm comm = link_.comm();
  PMPI_Comm_free(&comm);
}

}  // namespace latecomer

namespace latecomer::shared_comm {
namespace {

constexpr int kTagsOfSlot =
    2048;  // of 32768 at least: 15 slots; of MPI libraries' usual: thousands

struct Shared {
  std::mutex guard;
  std::unique_ptr<const Link> whole;
  Slots slots;
};

Shared& shared() { return lasting<Shared>(); }

}  // namespace

int make() {
  MPI_Comm comm = MPI_COMM_NULL;
  // MPICH's communicators have no error handler, though they name one, until one is set: errors on
  // them meet that of MPI_COMM_SELF or MPI_COMM_WORLD. That would end here, for duplicates too.
  const auto create = [](MPI_Comm world, MPI_Group group, MPI_Comm& made_comm) {
    return PMPI_Comm_create(world, group, &made_comm);
  };
  const int code = make_beside(MPI_COMM_WORLD, create, comm);
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
