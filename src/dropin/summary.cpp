#include "dropin/summary.hpp"

#include <algorithm>
#include <cstring>

#include "dropin/left.hpp"
#include "dropin/passed.hpp"
#include "runtime/connection/shared_comm.hpp"
#include "runtime/report/counters.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {
namespace {

MPI_Comm ours() { return shared_comm::link().comm(); }

std::vector<double> reduced(std::vector<double> mine, MPI_Op op) {
  PMPI_Allreduce(MPI_IN_PLACE, mine.data(), static_cast<int>(mine.size()), MPI_DOUBLE, op, ours());
  return mine;
}

std::uint64_t summed(std::uint64_t number) {
  PMPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_UINT64_T, MPI_SUM, ours());
  return number;
}

/// The host of a rank, on all ranks.
std::string host_of(int rank) {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  PMPI_Get_processor_name(name, &length);
  PMPI_Bcast(name, sizeof name, MPI_CHAR, rank, ours());
  return std::string(name, strnlen(name, sizeof name));
}

/// Adds the calls whose arrivals nobody knows.
void add_unknown(JobSummary& job, const RankTotals& mine) {
  std::vector<double> unknown(mine.unknown.begin(), mine.unknown.end());
  for (const Collective each : all_collectives()) {
    unknown[static_cast<std::size_t>(each)] += left_calls(each).inside;
  }
  const std::vector<double> least = reduced(unknown, MPI_MIN);
  const std::vector<double> all = reduced(unknown, MPI_SUM);
  for (const Collective each : all_collectives()) {
    const auto place = static_cast<std::size_t>(each);
    const double mean = all[place] / job.ranks;
    const double moving = rooted(each) ? mean : least[place];
    job.moving += moving;
    job.waiting += mean - moving;
  }
}

}  // namespace

JobSummary summarise_job(RankTotals mine, Seconds elapsed) {
  JobSummary job;
  PMPI_Comm_size(ours(), &job.ranks);
  const std::vector<double> sums = reduced({elapsed, mine.waiting, mine.moving, mine.saved.saved,
                                            half_range(mine.saved), mine.saved.rough ? 1.0 : 0.0},
                                           MPI_SUM);
  job.elapsed = sums[0] / job.ranks;
  job.waiting = sums[1] / job.ranks;
  job.moving = sums[2] / job.ranks;
  job.saved = sums[3] / job.ranks;
  job.saved_range = sums[5] > 0 ? -1 : sums[4] / job.ranks;
  add_unknown(job, mine);
  for (const Counter& counter : counters()) {
    job.calls.*counter.member = summed(mine.calls.*counter.member);
  }
  std::uint64_t short_calls = 0;
  for (const Collective each : all_collectives()) short_calls += left_calls(each).calls;
  job.short_calls = summed(short_calls);
  job.nonblocking = summed(passed_calls[static_cast<std::size_t>(Passed::nonblocking)]);
  job.persistent = summed(passed_calls[static_cast<std::size_t>(Passed::persistent)]);
  job.estimated = summed(mine.saved.calls);
  job.least_handled = mine.calls.handled;
  PMPI_Allreduce(MPI_IN_PLACE, &job.least_handled, 1, MPI_UINT64_T, MPI_MIN, ours());
  mine.last.resize(static_cast<std::size_t>(job.ranks));
  PMPI_Allreduce(MPI_IN_PLACE, mine.last.data(), job.ranks, MPI_UINT64_T, MPI_SUM, ours());
  for (const std::uint64_t calls : mine.last) job.told += calls;
  if (job.told == 0) return job;
  const auto most = std::max_element(mine.last.begin(), mine.last.end());
  job.last_rank = static_cast<Rank>(most - mine.last.begin());
  job.last_calls = *most;
  job.last_host = host_of(job.last_rank);
  return job;
}

}  // namespace latecomer
