// Questions to MPI about a communicator, and about where this process runs.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

[[nodiscard]] inline Rank rank_in(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

[[nodiscard]] inline Rank ranks_of(MPI_Comm comm) {
  int ranks = 1;
  PMPI_Comm_size(comm, &ranks);
  return ranks;
}

/// True for an intercommunicator.
[[nodiscard]] inline bool has_two_groups(MPI_Comm comm) {
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  return inter != 0;
}

/// The communicator's name; "" if it has none.
[[nodiscard]] inline std::string name_in_mpi(MPI_Comm comm) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  PMPI_Comm_get_name(comm, name, &length);
  return name;
}

[[nodiscard]] inline std::string host_in_mpi() {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  PMPI_Get_processor_name(name, &length);
  return name;
}

/// The places of a group's ranks in another group; -1 for others.
[[nodiscard]] inline std::vector<int> places_in(MPI_Group whole, MPI_Group group) {
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> places(ranks.size(), -1);
  PMPI_Group_translate_ranks(group, size, ranks.data(), whole, places.data());
  constexpr int kNowhere = MPI_UNDEFINED;
  std::replace(places.begin(), places.end(), kNowhere, -1);
  return places;
}

/// The same in MPI_COMM_WORLD. Frees the group.
[[nodiscard]] inline std::vector<int> places_in_world(MPI_Group group) {
  MPI_Group world = MPI_GROUP_NULL;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> places = places_in(world, group);
  PMPI_Group_free(&world);
  PMPI_Group_free(&group);
  return places;
}

}  // namespace latecomer
