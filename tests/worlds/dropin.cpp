// Worlds by the drop-in library. The program is linked with the loader, as if that were preloaded.
#include <dlfcn.h>

#include <stdexcept>

#include "worlds/calls.hpp"
#include "worlds/world.hpp"

namespace latecomer::worlds {
namespace {

template <class Function>
Function function_of(const char* library, const char* name, Function) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  void* const found = handle != nullptr ? dlsym(handle, name) : nullptr;
  if (found == nullptr) throw std::runtime_error(std::string("no function ") + name);
  return reinterpret_cast<Function>(found);
}

/// The small MPI's own function, which a rank without the library calls.
template <class Function>
Function bare(const char* name, Function like) {
  return function_of("libmpi.so.12", name, like);
}
/// The drop-in library's.
template <class Function>
Function own(const char* name, Function like) {
  return function_of("liblatecomer_preload_mpich.so", name, like);
}

// The functions with large counts, as those with counts of int.

int allreduce_c(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm) {
  return MPI_Allreduce_c(mine, all, count, type, op, comm);
}
int reduce_c(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op op, int root,
             MPI_Comm comm) {
  return MPI_Reduce_c(mine, all, count, type, op, root, comm);
}
int bcast_c(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return MPI_Bcast_c(buffer, count, type, root, comm);
}
int allgather_c(const void* mine, int count, MPI_Datatype type, void* all, int part,
                MPI_Datatype part_type, MPI_Comm comm) {
  return MPI_Allgather_c(mine, count, type, all, part, part_type, comm);
}
int gather_c(const void* mine, int count, MPI_Datatype type, void* all, int part,
             MPI_Datatype part_type, int root, MPI_Comm comm) {
  return MPI_Gather_c(mine, count, type, all, part, part_type, root, comm);
}
int scatter_c(const void* all, int part, MPI_Datatype part_type, void* mine, int count,
              MPI_Datatype type, int root, MPI_Comm comm) {
  return MPI_Scatter_c(all, part, part_type, mine, count, type, root, comm);
}

}  // namespace
}  // namespace latecomer::worlds

// The loader keeps the drop-in library to itself: who reads its counters looks them up.
extern "C" {
const char* latecomer_last_error() {
  static const auto found = latecomer::worlds::own("latecomer_last_error", &latecomer_last_error);
  return found();
}
int latecomer_get_stats(MPI_Comm comm, latecomer_stats* stats) {
  static const auto found = latecomer::worlds::own("latecomer_get_stats", &latecomer_get_stats);
  return found(comm, stats);
}
int latecomer_count_stats(MPI_Comm comm, int* keys, int* sites) {
  static const auto found = latecomer::worlds::own("latecomer_count_stats", &latecomer_count_stats);
  return found(comm, keys, sites);
}
int latecomer_get_key_stats(MPI_Comm comm, int index, latecomer_key_stats* stats) {
  static const auto found =
      latecomer::worlds::own("latecomer_get_key_stats", &latecomer_get_key_stats);
  return found(comm, index, stats);
}
}  // extern "C"

namespace latecomer::worlds {

std::string library_under_test() {
  MPI_Barrier(MPI_COMM_NULL);  // the loader finds the MPI library, and loads the drop-in library
  latecomer_last_error();      // makes that library's variables of the thread
  return "liblatecomer_preload";
}

#define ALL_AS(AS)                                                                         \
  AS(Init_thread), AS(Finalize), AS(Comm_split), AS(Comm_dup), AS(Barrier), AS(Allreduce), \
      AS(Reduce), AS(Bcast), AS(Allgather), AS(Gather), AS(Scatter)
#define PLAIN(name) MPI_##name
#define PROFILING(name) PMPI_##name
#define BARE(name) bare("PMPI_" #name, PMPI_##name)

Calls calls_of(const World& world, int rank) {
  const bool breaks = world.broken == "inactive" && rank == 1;
  if (rank == world.without || breaks) return {ALL_AS(BARE)};
  switch (world.spellings.at(rank)) {
    case Spelling::profiling:
      return {ALL_AS(PROFILING)};
    case Spelling::large:
      return {MPI_Init_thread, MPI_Finalize, MPI_Comm_split, MPI_Comm_dup, MPI_Barrier, allreduce_c,
              reduce_c,        bcast_c,      allgather_c,    gather_c,     scatter_c};
    default:
      return {ALL_AS(PLAIN)};
  }
}

bool has_kind(const std::string& kind) { return kind.empty() || has_traces(kind); }

World world_of_kind(World world, const std::string& kind) {
  world = with_dropin(std::move(world));
  return has_traces(kind) ? with_traces(std::move(world), folder_of_traces(kind)) : world;
}

}  // namespace latecomer::worlds
