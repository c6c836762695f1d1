#include "runtime/clocks/clock_groups.hpp"

#include <unistd.h>

#include <fstream>
#include <string>
#include <unordered_set>

#include "base/hash.hpp"

namespace latecomer {
namespace {

/// 0 where the system does not tell.
std::uint64_t own_clock() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  if (boot.empty()) return 0;
  char name[256] = "";  // empty where there are no time namespaces: then all share the clock
  const ssize_t length = readlink("/proc/self/ns/time", name, sizeof name);
  if (length > 0) boot.append(name, static_cast<std::size_t>(length));
  return fnv1a(boot);
}

}  // namespace

ClockGroups group_clocks(const std::vector<std::uint64_t>& clocks, Rank me) {
  ClockGroups groups;
  std::unordered_set<std::uint64_t> seen;
  const std::uint64_t mine = clocks[static_cast<std::size_t>(me)];
  for (Rank rank = 0; rank < static_cast<Rank>(clocks.size()); ++rank) {
    const std::uint64_t clock = clocks[static_cast<std::size_t>(rank)];
    if (clock == 0 || seen.insert(clock).second) groups.leaders.push_back(rank);
    if (rank == me || (clock != 0 && clock == mine)) groups.mates.push_back(rank);
  }
  return groups;
}

ClockGroups clock_groups(MPI_Comm comm) {
  int ranks = 0;
  int me = 0;
  PMPI_Comm_size(comm, &ranks);
  PMPI_Comm_rank(comm, &me);
  const std::uint64_t mine = own_clock();
  std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks));
  PMPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, comm);
  return group_clocks(all, me);
}

}  // namespace latecomer
