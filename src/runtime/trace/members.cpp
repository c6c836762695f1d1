#include "runtime/trace/members.hpp"

#include <algorithm>
#include <numeric>

#include "base/reproducible.hpp"
#include "runtime/comm_state.hpp"

namespace latecomer {

std::vector<std::int32_t> members_of(MPI_Comm comm, Rank size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> found(ranks.size());
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_translate_ranks(group, size, ranks.data(), world, found.data());
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  constexpr int kNowhere = MPI_UNDEFINED;
  std::replace(found.begin(), found.end(), kNowhere, -1);
  return {found.begin(), found.end()};
}

std::uint64_t common_name(const CommState& state) {
  return state.identity ? state.identity->name : 0;
}

std::uint64_t key_of(const std::vector<std::int32_t>& members) { return fnv1a(std::span(members)); }

}  // namespace latecomer
