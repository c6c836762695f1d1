#include "dropin/common_time.hpp"

#include <algorithm>
#include <vector>

#include "runtime/connection/clocks/clocks.hpp"
#include "runtime/connection/introduction.hpp"

namespace latecomer {
namespace {

constexpr int kQuestions = 12;
constexpr int kTag = 1;

void answer(MPI_Comm comm, Rank leader) {
  for (int i = 0; i < kQuestions; ++i) {
    PMPI_Recv(nullptr, 0, MPI_BYTE, leader, kTag, comm, MPI_STATUS_IGNORE);
    const Seconds now = monotonic_clock();
    PMPI_Send(&now, 1, MPI_DOUBLE, leader, kTag, comm);
  }
}

std::vector<ClockSample> ask(MPI_Comm comm) {
  std::vector<ClockSample> samples;
  for (int i = 0; i < kQuestions; ++i) {
    ClockSample sample{monotonic_clock(), 0, 0};
    PMPI_Send(nullptr, 0, MPI_BYTE, 0, kTag, comm);
    PMPI_Recv(&sample.peer, 1, MPI_DOUBLE, 0, kTag, comm, MPI_STATUS_IGNORE);
    sample.answered = monotonic_clock();
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace

void CommonTime::compare(MPI_Comm comm) {
  Rank me = 0;
  Rank ranks = 1;
  PMPI_Comm_rank(comm, &me);
  PMPI_Comm_size(comm, &ranks);
  const std::uint64_t mine = introduction_of_place().clock;
  std::vector<std::uint64_t> clocks(static_cast<std::size_t>(ranks));
  PMPI_Allgather(&mine, 1, MPI_UINT64_T, clocks.data(), 1, MPI_UINT64_T, comm);
  const ClockGroups groups = group_clocks(clocks, me);
  if (groups.leaders.size() == 1) return;
  const Rank leader = groups.mates.front();
  if (me == 0) {
    for (const Rank each : groups.leaders) {
      if (each != 0) answer(comm, each);
    }
  } else if (leader == me) {
    history_.add(fit(ask(comm), 0));
    model_ = history_.model();
  }
  constexpr int kBytes = sizeof model_;
  if (leader != me) {
    PMPI_Recv(&model_, kBytes, MPI_BYTE, leader, kTag, comm, MPI_STATUS_IGNORE);
    return;
  }
  for (const Rank each : groups.mates) {
    if (each != me) PMPI_Send(&model_, kBytes, MPI_BYTE, each, kTag, comm);
  }
}

}  // namespace latecomer
