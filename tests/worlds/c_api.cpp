// Worlds by the library of the C API.
#include "worlds/calls.hpp"
#include "worlds/world.hpp"

namespace latecomer::worlds {

std::string library_under_test() { return "liblatecomer_mpich"; }

Calls calls_of(const World&, int) {
  static const CApi c_api{latecomer_set_algorithm,
                          latecomer_set_estimate,
                          latecomer_prepare_finalize,
                          latecomer_compute_begin,
                          latecomer_compute_progress,
                          latecomer_compute_end,
                          latecomer_allreduce_init,
                          latecomer_reduce_init,
                          latecomer_bcast_init,
                          latecomer_allgather_init,
                          latecomer_gather_init,
                          latecomer_scatter_init,
                          latecomer_start,
                          latecomer_wait,
                          latecomer_request_free};
  return {PMPI_Init_thread,    PMPI_Finalize,       PMPI_Comm_split,   PMPI_Comm_dup,
          PMPI_Barrier,        latecomer_allreduce, latecomer_reduce,  latecomer_bcast,
          latecomer_allgather, latecomer_gather,    latecomer_scatter, &c_api};
}

bool has_kind(const std::string& kind) {
  return kind.empty() || kind == "started" || kind == "one-machine" || has_traces(kind);
}

World world_of_kind(World world, const std::string& kind) {
  if (has_traces(kind)) return with_traces(std::move(world), folder_of_traces(kind));
  world.one_machine = kind == "one-machine";
  return kind == "started" ? with_requests(std::move(world)) : world;
}

}  // namespace latecomer::worlds
