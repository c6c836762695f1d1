#include "eager.hpp"

#include <algorithm>

namespace bench {
namespace {

constexpr int kTries = 2;  // a busy machine may keep a send from ending in time, but not for ever

std::int64_t search(MPI_Comm comm, int peer, bool first, Messages& messages, std::int64_t largest) {
  const auto eager = [&](std::int64_t bytes) {
    for (int i = 0; i < kTries; ++i) {
      if (messages.ends_unreceived(comm, peer, first, bytes)) return true;
    }
    return false;
  };
  std::int64_t most = 0;
  std::int64_t beyond = 1;
  while (eager(beyond)) {
    most = beyond;
    if (most == largest) return most;
    beyond = std::min(2 * beyond, largest);
  }
  while (beyond - most > 1) {
    const std::int64_t middle = most + (beyond - most) / 2;
    (eager(middle) ? most : beyond) = middle;
  }
  return most;
}

}  // namespace

std::int64_t find_eager_limit(const Team& team, Messages& messages, std::int64_t largest) {
  std::int64_t limit = 0;
  const int place = team.place();
  if (place == 0 || place == 1) {
    limit = search(team.members(), 1 - place, place == 0, messages, largest);
  }
  team.meet();
  MPI_Bcast(&limit, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);  // rank 0 is the first member
  return limit;
}

}  // namespace bench
