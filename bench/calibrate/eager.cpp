#include "eager.hpp"

#include <algorithm>

namespace bench {
namespace {

constexpr int kTries = 3;  // a busy machine may keep a send from ending in time, but not for ever

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

/// From 8 messages on: fewer pass a link at once, or take as long to copy.
std::int64_t search_buffer(MPI_Comm comm, int peer, bool first, Messages& messages,
                           std::int64_t bytes) {
  constexpr int kStep = 4;  // messages
  constexpr int kMost = 128;
  constexpr double kLongBefore = 0.25;
  const auto are_over = [&](int count) {
    double least = 1;  // disturbances make sends longer
    for (int i = 0; i < kTries; ++i)
      least = std::min(least, messages.part_sending(comm, peer, first, bytes, count));
    return least < kLongBefore;
  };
  int most = 0;
  for (int count = 2 * kStep; count <= kMost && are_over(count); count += kStep) most = count;
  return bytes * most;
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

std::int64_t find_buffer(const Team& team, Messages& messages, std::int64_t eager) {
  constexpr std::int64_t kPart = 1 << 15;
  std::int64_t buffer = 0;
  const int place = team.place();
  if (eager > 0 && (place == 0 || place == 1)) {
    buffer = search_buffer(team.members(), 1 - place, place == 0, messages, std::min(eager, kPart));
  }
  team.meet();
  MPI_Bcast(&buffer, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  return buffer;
}

}  // namespace bench
