#include "dropin/summary.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "dropin/library_calls.hpp"
#include "dropin/matching.hpp"
#include "runtime/connection/clocks/clocks.hpp"
#include "runtime/connection/sleeping.hpp"
#include "runtime/report/counters.hpp"

namespace latecomer {
namespace {

/// The sums, or other reductions, of all ranks' numbers.
class Sums {
 public:
  explicit Sums(MPI_Comm comm) : comm_(comm) {}

  [[nodiscard]] double operator()(double mine, MPI_Op op = MPI_SUM) const {
    PMPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, op, comm_);
    return mine;
  }
  [[nodiscard]] std::uint64_t operator()(std::uint64_t mine, MPI_Op op = MPI_SUM) const {
    PMPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_UINT64_T, op, comm_);
    return mine;
  }
  [[nodiscard]] std::uint64_t operator()(Unhandled kind) const {
    return (*this)(unhandled_calls[static_cast<std::size_t>(kind)].load());
  }

 private:
  MPI_Comm comm_;
};

/// The hosts of all ranks, on rank 0.
std::vector<std::string> hosts_of(MPI_Comm comm, Rank ranks) {
  constexpr std::size_t kBytes = 64;
  std::array<char, kBytes> mine{};
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  int me = 0;
  PMPI_Get_processor_name(name, &length);
  PMPI_Comm_rank(comm, &me);
  std::copy_n(name, std::min(kBytes - 1, strnlen(name, sizeof name)), mine.data());
  std::vector<std::array<char, kBytes>> all(me == 0 ? static_cast<std::size_t>(ranks) : 0);
  PMPI_Gather(mine.data(), kBytes, MPI_CHAR, all.data(), kBytes, MPI_CHAR, 0, comm);
  std::vector<std::string> hosts;
  for (const auto& each : all) hosts.emplace_back(each.data());
  return hosts;
}

Seconds mean(const std::vector<Seconds>& of) {
  return std::accumulate(of.begin(), of.end(), Seconds{0}) / static_cast<double>(of.size());
}

}  // namespace

JobSummary summarise_job(MPI_Comm comm, const RankTotals& mine, Seconds elapsed,
                         const ClockModel& clock) {
  JobSummary job;
  PMPI_Comm_size(comm, &job.ranks);
  const Sums all(comm);
  job.elapsed = all(elapsed) / job.ranks;
  job.slept = all(slept()) / job.ranks;
  job.saved = all(mine.saved.saved) / job.ranks;
  job.saved_range = all(half_range(mine.saved)) / job.ranks;
  if (all(mine.saved.rough ? 1.0 : 0.0) > 0) job.saved_range = -1;
  for (const Counter& counter : counters()) {
    job.calls.*counter.member = all(mine.calls.*counter.member);
  }
  job.short_calls = all(short_vector_calls.load());
  job.nonblocking = all(Unhandled::nonblocking);
  job.persistent = all(Unhandled::persistent);
  job.neighbour = all(Unhandled::neighbour);
  job.estimated = all(mine.saved.calls);
  job.least_handled = all(mine.calls.handled, MPI_MIN);
  job.clock_error =
      all(std::max(clock.error, clock.error_at(monotonic_clock() - elapsed)), MPI_MAX);
  job.waits = match_calls(comm, clock);
  job.waiting = mean(job.waits.waiting);
  job.moving = mean(job.waits.moving);
  job.hosts = hosts_of(comm, job.ranks);
  return job;
}

}  // namespace latecomer
