// The functions by which a rank of a world calls the library under test: those of the C API
// (c_api.cpp), or MPI's with the drop-in library (dropin.cpp).
#pragma once

#include <latecomer/latecomer_mpi.h>

#include <string>

namespace latecomer::worlds {

struct World;

/// What a program of the C API has beside the collectives.
struct CApi {
  decltype(&latecomer_set_algorithm) set_algorithm;
  decltype(&latecomer_set_estimate) set_estimate;
  decltype(&latecomer_prepare_finalize) prepare_finalize;
  decltype(&latecomer_compute_begin) compute_begin;
  decltype(&latecomer_compute_progress) compute_progress;
  decltype(&latecomer_compute_end) compute_end;
  decltype(&latecomer_allreduce_init) allreduce_init;
  decltype(&latecomer_reduce_init) reduce_init;
  decltype(&latecomer_bcast_init) bcast_init;
  decltype(&latecomer_allgather_init) allgather_init;
  decltype(&latecomer_gather_init) gather_init;
  decltype(&latecomer_scatter_init) scatter_init;
  decltype(&latecomer_start) start;
  decltype(&latecomer_wait) wait;
  decltype(&latecomer_request_free) request_free;
};

struct Calls {
  decltype(&PMPI_Init_thread) init_thread;
  decltype(&PMPI_Finalize) finalize;
  decltype(&PMPI_Comm_split) split;
  decltype(&PMPI_Comm_dup) dup;
  decltype(&PMPI_Barrier) barrier;
  decltype(&latecomer_allreduce) allreduce;
  decltype(&latecomer_reduce) reduce;
  decltype(&latecomer_bcast) bcast;
  decltype(&latecomer_allgather) allgather;
  decltype(&latecomer_gather) gather;
  decltype(&latecomer_scatter) scatter;
  const CApi* c_api = nullptr;  // nullptr: the program knows MPI alone
};

/// Part of the name of the libraries under test. They are ready to be called.
std::string library_under_test();
/// The functions that the rank calls.
Calls calls_of(const World& world, int rank);
/// The kinds of worlds that the program plays beside the usual ones, by the last word of its
/// command line: with the C API "started", "one-machine" or nothing, with the drop-in library
/// nothing.
World world_of_kind(World world, const std::string& kind);
/// With either, "traces=FOLDER".
inline bool has_traces(const std::string& kind) { return kind.starts_with("traces="); }
inline std::string folder_of_traces(const std::string& kind) {
  return kind.substr(kind.find('=') + 1);
}
bool has_kind(const std::string& kind);

}  // namespace latecomer::worlds
