// Ranks that share the memory of their node: all-reduce in two levels over MPI.
#include <sys/resource.h>

#include "captured_stderr.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/attachment.hpp"
#include "try_reduction.hpp"
#include "variable.hpp"
#include "with_thread.hpp"

namespace latecomer::testing {
namespace {

constexpr const char* kNodes = "LATECOMER_NODES";

void choose(MPI_Comm comm, const char* text) {
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", text), MPI_SUCCESS);
}

const CommResources* resources_of(MPI_Comm comm) { return state_of(comm).resources.get(); }

/// "all" ranks on one node, or so many.
std::vector<std::string> placements(const Context& context) {
  std::vector<std::string> all = {"2", "off"};
  if (!context.quick) all.push_back("3");
  all.push_back(std::to_string(context.ranks));
  return all;
}

MPI_TEST(all_reduce_on_nodes_is_right_for_all_kinds) {
  const Kinds kinds;
  std::uint64_t seed = context.seed;
  for (const std::string& nodes : placements(context)) {
    const Variable variable(kNodes, nodes);
    const Communicator comm;
    choose(comm, "nodes");
    for (const Kind& kind : kinds.all()) {
      for (const Count count : {0, 1, 2, 7, 1000, 3000}) {
        for (const bool in_place : {false, true}) {
          try_allreduce(comm, kind, {count, in_place}, ++seed, kind.name + " nodes=" + nodes);
        }
      }
    }
    const bool shared = context.ranks > 2 && nodes != "off";
    if (shared) CHECK(resources_of(comm)->shares_memory);
    if (nodes == "off") CHECK(resources_of(comm) == nullptr || !resources_of(comm)->node);
  }
}

}  // namespace
}  // namespace latecomer::testing
