#include "iteration.hpp"

#include <algorithm>

#include "clock.hpp"
#include "mpi.hpp"
#include "slowness.hpp"

namespace bench {

/// Ranks that share a clock begin at one instant, soon; the others as the barrier lets them.
double Lab::common_start() const {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = now();
  if (!common_) return start;
  start += 0.010 + 0.003 * ranks();
  MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return start;
}

/// A late rank is slow all the time: its edge is late as well.
void Lab::compute(const Contender& contender, double start, double delay) const {
  const double length = options_.compute + delay;
  contender.compute_begin();
  sleep_until(start + length * options_.edge);
  contender.edge(options_.edge);
  sleep_until(start + length);
  contender.compute_end();
}

std::vector<double> Lab::estimate(const std::vector<double>& delays) const {
  if (options_.estimate != Estimate::wrong) return delays;
  const double latest = *std::max_element(delays.begin(), delays.end());
  std::vector<double> reversed;
  for (const double delay : delays) reversed.push_back(latest - delay);
  return reversed;
}

/// Before the call.
std::vector<double> Lab::lateness(const std::vector<double>& delays) const {
  const bool late = options_.imbalance == Imbalance::phase;
  return late ? delays : std::vector<double>(delays.size());
}

Measured Lab::run(Contender& contender, Workload& workload,
                  const std::vector<double>& delays) const {
  const auto mine_of = [](const std::vector<double>& all) {
    return all[static_cast<std::size_t>(rank())];
  };
  workload.wipe();
  contender.expect(estimate(lateness(delays)));
  if (options_.imbalance == Imbalance::op) be_slow(mine_of(delays) / workload.count());
  const double start = common_start();
  compute(contender, start, mine_of(lateness(delays)));
  Stamps mine;
  mine.arrival = now();
  contender.call(workload);
  mine.exit = now();
  contender.count();

  Measured measured;
  if (rank() == 0) measured.stamps.resize(static_cast<std::size_t>(ranks()));
  MPI_Gather(&mine, 2, MPI_DOUBLE, measured.stamps.data(), 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  const long long wrong = workload.wrong();
  MPI_Reduce(&wrong, &measured.wrong, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  return measured;
}

}  // namespace bench
