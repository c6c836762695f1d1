// Communicators of the same ranks, one after the other.
#include "runtime/connection/predecessors.hpp"

#include <list>
#include <vector>

#include "base/reproducible.hpp"
#include "communicator.hpp"
#include "kinds.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/attachment.hpp"
#include "try_reduction.hpp"
#include "variable.hpp"

namespace latecomer::testing {
namespace {

Communicator chosen(const char* network) {
  Communicator comm;
  CHECK_EQ(latecomer_set_network(comm, network), MPI_SUCCESS);
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "auto"), MPI_SUCCESS);
  CHECK_EQ(latecomer_set_estimate(comm, "online"), MPI_SUCCESS);
  return comm;
}

void sum_long_vectors(const Context& context, MPI_Comm comm, int calls) {
  std::vector<double> in(100000, 1.0);
  std::vector<double> out(in.size());
  for (int call = 0; call < calls; ++call) {
    CHECK_EQ(latecomer_allreduce(in.data(), out.data(), 100000, MPI_DOUBLE, MPI_SUM, comm),
             MPI_SUCCESS);
    CHECK(out == std::vector<double>(out.size(), context.ranks));
  }
}

/// Calls until there are resources: calls of this length pay for them on any machine.
void use(const Context& context, MPI_Comm comm) {
  for (int i = 0; i < 1000 && !state_of(comm).resources; ++i) sum_long_vectors(context, comm, 3);
  CHECK(state_of(comm).resources != nullptr);
  sum_long_vectors(context, comm, 5);
}

MPI_TEST(a_later_communicator_goes_on_with_what_was_learned) {
  if (context.ranks == 1) return;
  // Where ranks share memory, the library's own collective may be the best and stay it.
  const Variable nodes("LATECOMER_NODES", "off");
  StateHash state_hash = 0;
  MPI_Comm internal = MPI_COMM_NULL;
  std::uint64_t calls = 0;
  {
    const Communicator comm = chosen("alpha=51us");
    use(context, comm);
    state_hash = state_of(comm).chooser.state_hash();
    internal = state_of(comm).resources->comm->link().comm();
    calls = state_of(comm).resources->calls;
  }
  const Communicator later = chosen("alpha=51us");
  sum_long_vectors(context, later, 3);  // until their first review
  const CommState& state = state_of(later);
  CHECK_EQ(state.chooser.state_hash(), state_hash);
  CHECK(state.resources != nullptr && state.resources->comm->link().comm() == internal);
  CHECK(state.chooser.watch() != nullptr);
  for (int i = 0; i < 100 && state.resources->calls == calls; ++i) {
    sum_long_vectors(context, later, 5);
  }
  CHECK(state.resources->calls > calls);
}

MPI_TEST(another_policy_learns_anew) {
  if (context.ranks == 1) return;
  StateHash state_hash = 0;
  {
    const Communicator comm = chosen("alpha=52us");
    use(context, comm);
    state_hash = state_of(comm).chooser.state_hash();
  }
  const Communicator later = chosen("alpha=53us");
  sum_long_vectors(context, later, 3);  // until their first review
  CHECK(state_of(later).chooser.state_hash() != state_hash);
  sum_long_vectors(context, later, 20);
}

/// Odd and even ranks, and ranks of the halves of the world, with the same number of ranks in each.
MPI_TEST(other_ranks_learn_anew) {
  if (context.ranks < 4 || context.ranks % 2 != 0) return;
  const auto split = [&](int color) {
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, color, context.rank, &part);
    CHECK_EQ(latecomer_set_algorithm(part, "allreduce", "auto"), MPI_SUCCESS);
    return part;
  };
  Context half = context;
  half.ranks = context.ranks / 2;
  for (int i = 0; i < 4; ++i) {
    MPI_Comm part = split(i % 2 == 0 ? context.rank % 2 : context.rank / half.ranks);
    sum_long_vectors(half, part, 60);
    MPI_Comm_free(&part);
  }
}

/// Of many communicators that were freed the older ones leave their resources and arrivals, and all
/// else is learned anew: but where ranks share memory is no knowledge of calls.
MPI_TEST(later_communicators_know_the_placement) {
  if (context.ranks == 1) return;
  constexpr int kMore = 10;  // than leave all that they learned
  std::list<Communicator> comms;
  for (int i = 0; i < kMore; ++i) {
    comms.push_back(chosen("alpha=57us"));
    use(context, comms.back());
  }
  comms.clear();
  for (int i = 0; i < kMore; ++i) {
    comms.push_back(chosen("alpha=57us"));
    use(context, comms.back());
    const CommState& state = state_of(comms.back());
    CHECK(state.chooser.placement() == state.resources->placement);
  }
}

/// Each rank frees in an order of its own, so that ranks may offer different communicators.
MPI_TEST(communicators_may_be_freed_in_any_order_before_others_come) {
  if (context.ranks == 1) return;
  Random own(context.seed + static_cast<std::uint64_t>(context.rank));
  for (int round = 0; round < (context.quick ? 3 : 8); ++round) {
    std::list<Communicator> comms;
    for (int i = 0; i < 5; ++i) comms.push_back(chosen("alpha=54us"));
    for (const Communicator& comm : comms) sum_long_vectors(context, comm, 12);
    while (!comms.empty()) {
      const auto which = static_cast<std::ptrdiff_t>(own.below(comms.size()));
      comms.erase(std::next(comms.begin(), which));
    }
  }
}

/// Protocols' control messages may be under way when a communicator is freed: its context is used
/// again for the same ranks only, which recognise such messages.
MPI_TEST(contexts_are_handed_on) {
  const Kinds kinds;
  const int before = InternalComm::living();
  for (std::uint64_t i = 0; i < (context.quick ? 40 : 200); ++i) {
    const Communicator comm;
    CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "early_owners"), MPI_SUCCESS);
    CHECK_EQ(latecomer_set_algorithm(comm, "reduce", "local_redirect"), MPI_SUCCESS);
    try_allreduce(comm, kinds.named("int sum"), {7, false, 0}, context.seed + i, "early_owners");
    std::vector<std::int64_t> in(200, static_cast<std::int64_t>(i));
    std::vector<std::int64_t> out(in.size());
    const int root = static_cast<int>(i) % context.ranks;
    for (int call = 0; call < 3; ++call) {
      CHECK_EQ(latecomer_reduce(in.data(), out.data(), 200, MPI_INT64_T, MPI_SUM, root, comm),
               MPI_SUCCESS);
    }
    if (context.rank != root) continue;
    CHECK(out ==
          std::vector<std::int64_t>(out.size(), static_cast<std::int64_t>(i) * context.ranks));
  }
  CHECK(InternalComm::living() <= before + 1);
}

}  // namespace
}  // namespace latecomer::testing
