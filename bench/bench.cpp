// The papers' mini-benchmark: ranks compute, are late by injected delays, and all-reduce; every
// algorithm sees the same delays and data, iteration by iteration. The caller draws the delays
// and does the statistics.
#include <deque>
#include <numeric>
#include <random>

#include "clock.hpp"
#include "delays.hpp"
#include "init.hpp"
#include "iteration.hpp"
#include "mpi.hpp"
#include "reading.hpp"
#include "report.hpp"
#include "start.hpp"

namespace bench {
namespace {

/// Calls before the first recorded one in which `auto` learns the arrivals that the others are
/// told.
constexpr int kLearningCalls = 9;

/// Shuffled anew in each iteration, so that no algorithm always follows the same other one.
std::vector<std::size_t> order(std::size_t contenders, std::uint64_t seed, int iteration) {
  std::mt19937_64 random(seed * 1000003 + static_cast<std::uint64_t>(iteration));
  std::vector<std::size_t> all(contenders);
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random() % i]);
  return all;
}

void run(Options options) {
  if (options.root >= ranks()) {
    refuse("--root", std::to_string(options.root),
           ("one of the " + std::to_string(ranks()) + " ranks, from 0").c_str());
  }
  options.network = broadcast(options.network);  // only one rank of a job may have been told
  const Delays delays = read_delays(options.delays);
  const bool common = clock_is_common();
  std::deque<Contender> contenders;
  for (const std::string& name : options.algorithms) contenders.emplace_back(name, options);
  const auto workload = make_workload(options);
  const auto iterations = static_cast<int>(delays.size());
  Report report(options, iterations, common);
  const Lab lab(options, common);
  workload->draw(0, delays.front());
  for (Contender& each : contenders) {
    for (int i = 0; each.learns() && i < kLearningCalls; ++i) {
      lab.run(each, *workload, delays.front());
    }
  }
  for (int i = -options.warmup; i < iterations; ++i) {
    const auto& late = delays[static_cast<std::size_t>(std::max(i, 0))];
    workload->draw(static_cast<std::uint64_t>(i + options.warmup), late);
    for (const std::size_t c : order(contenders.size(), options.seed, i)) {
      const auto measured = lab.run(contenders[c], *workload, late);
      if (i >= 0) report.add(i, contenders[c], measured);
    }
  }
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::init_mpi(&argc, &argv);
  const int result = bench::start(
      "latecomer_bench", bench::kUsage, [&] { return bench::parse_options(argc, argv); },
      bench::run);
  MPI_Finalize();
  return result;
}
