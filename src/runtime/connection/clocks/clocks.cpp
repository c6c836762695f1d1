#include "runtime/connection/clocks/clocks.hpp"

#include <unordered_set>

namespace latecomer {

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

}  // namespace latecomer
