// Messages and combines of more elements than fit one MPI call, with the limit lowered.
#include "algorithms/registry.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runtime/attachment.hpp"
#include "try_reduction.hpp"
#include "variable.hpp"

namespace latecomer::testing {
namespace {

MPI_TEST(long_messages_travel_in_pieces) {
  const Kinds kinds;
  Random random(context.seed);
  for (const Algorithm& algorithm : registry(Collective::allreduce)) {
    for (const Count limit : {1, 3}) {
      const Communicator comm;
      state_of(comm).tuning.piece_limit = limit;
      latecomer_set_algorithm(comm, "allreduce", std::string(algorithm.name).c_str());
      for (const Kind& kind : kinds.all()) {
        try_allreduce(comm, kind, {7 * context.ranks + 2, random.below(2) == 0, 0}, random.next(),
                      std::string(algorithm.name) + ", pieces of " + std::to_string(limit));
      }
    }
  }
}

/// Pieces as they go between nodes where an exchange costs more, with elements of many sizes. A
/// rank that comes late has posted none of its receives.
MPI_TEST(long_messages_between_nodes_travel_in_pieces) {
  const Kinds kinds;
  Random random(context.seed);
  const Variable nodes("LATECOMER_NODES", "2");
  for (const Algorithm& algorithm : registry(Collective::allreduce)) {
    const Communicator comm = Communicator::returning_errors();
    CHECK_EQ(latecomer_set_network(comm, "exchange=1.3"), MPI_SUCCESS);
    latecomer_set_algorithm(comm, "allreduce", std::string(algorithm.name).c_str());
    for (const char* const kind : {"float sum", "affine"}) {
      for (const Count count : {1000, 150000}) {
        if (count > 1000 && context.quick && context.ranks > 2) continue;
        const double sleep = context.rank == 1 ? 1e-3 : 0;
        try_allreduce(comm, kinds.named(kind), {count, random.below(2) == 0, sleep}, random.next(),
                      std::string(algorithm.name) + " between nodes");
      }
    }
  }
}

MPI_TEST(one_request_in_flight_is_enough) {
  const Kinds kinds;
  Random random(context.seed);
  for (const Algorithm& algorithm : registry(Collective::allreduce)) {
    const Communicator comm;
    latecomer_set_algorithm(comm, "allreduce", std::string(algorithm.name).c_str());
    state_of(comm).tuning.window = 1;
    for (const bool in_place : {false, true}) {
      try_allreduce(comm, kinds.named("float sum"), {40000, in_place, 0}, random.next(),
                    std::string(algorithm.name) + ", window 1");
    }
  }
}

}  // namespace
}  // namespace latecomer::testing
