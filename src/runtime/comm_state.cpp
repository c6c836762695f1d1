#include "runtime/comm_state.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "runtime/background/background.hpp"
#include "runtime/background/wish.hpp"
#include "runtime/default_network.hpp"
#include "runtime/environment.hpp"
#include "runtime/statistics/ledger.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {
namespace {

int free_state(MPI_Comm, int, void* state, void*) {
  delete static_cast<CommState*>(state);
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

}  // namespace

CommState::CommState(MPI_Comm user) : comm(user) {
  for (const Collective each : all_collectives())
    choice(each) = {&find_algorithm(each, "native"), {}};
  knowledge.network = with_handshake(default_network());
  reproducible = environment_flag("LATECOMER_REPRODUCIBLE");
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  intercommunicator = inter != 0;
}

CommState::~CommState() {
  ledger_close(*this);
  background.reset();
  if (!link) return;
  // What has come must not be left to a communicator of the same context. Also after a failure, of
  // which not all may know: draining takes all ranks.
  if (protocols) link->transport.drain_words();
  link->control.read();
  if (link->control.used()) link->comm->keep();
}

bool CommState::automatic() const {
  return std::any_of(choices.begin(), choices.end(),
                     [](const Choice& each) { return each.algorithm->name == "auto"; });
}

int CommState::ensure_link() {
  if (link) return MPI_SUCCESS;
  std::unique_ptr<InternalComm> internal;
  const int code = InternalComm::make(comm, internal);
  if (code != MPI_SUCCESS) return code;
  link = std::make_unique<Link>(std::move(internal), tuning.piece_limit);
  if (all_have_progress_threads(link->comm->get(), comm)) {
    background = std::make_unique<Background>(*this);
  }
  return MPI_SUCCESS;
}

CommState& state_of(MPI_Comm comm) {
  void* found = nullptr;
  int flag = -1;  // stays where MPI refuses: after a user's error handler MPICH returns no error
  const int code = PMPI_Comm_get_attr(comm, state_keyval(), &found, &flag);
  if (flag < 0) throw RefusedByMpi{code == MPI_SUCCESS ? MPI_ERR_COMM : code};
  if (flag != 0) return *static_cast<CommState*>(found);
  auto fresh = std::make_unique<CommState>(comm);
  if (PMPI_Comm_set_attr(comm, state_keyval(), fresh.get()) != MPI_SUCCESS) {
    throw Error("communicator", "its attributes", "one that takes another attribute");
  }
  ledger_open(*fresh);
  return *fresh.release();
}

}  // namespace latecomer
