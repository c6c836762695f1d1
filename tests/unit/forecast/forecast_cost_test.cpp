// The time of forecasting in a watched call. It tests nothing, so it runs only where asked for
// (docs/decisions/0013-forecast.md).
#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>

#include "forecast/forecast.hpp"
#include "unit/forecast/histories.hpp"

namespace latecomer {
namespace {

using namespace testing;

constexpr Seconds kMillisecond = 1e-3;
constexpr int kSettled = 6400;  // calls until pauses between searches are long
constexpr int kBlock = 64;      // calls timed together
constexpr int kRuns = 3;        // the same calls each time: the least time of a block counts

/// The time of this thread.
Seconds cpu_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<Seconds>(time.tv_sec) + 1e-9 * static_cast<Seconds>(time.tv_nsec);
}

/// Seconds that each block of calls takes from the call after `kSettled` on.
std::vector<Seconds> blocks(Rank ranks, const Lateness& lateness, int calls) {
  Forecasts forecasts(ranks);
  Loop loop(ranks, kMillisecond / 100, base_seed());
  std::vector<Seconds> times;
  for (int call = 0; call < kSettled + calls; call += kBlock) {
    std::vector<Observation> seen;
    for (int i = 0; i < kBlock; ++i) seen.push_back(loop.call(lateness(call + i)));
    const Seconds began = cpu_time();
    for (const Observation& one : seen) {
      const HistoryKey history = forecasts.enter(1);
      (void)forecasts.expect(history);
      forecasts.observe(history, one);
    }
    if (call >= kSettled) times.push_back(cpu_time() - began);
  }
  return times;
}

double microseconds(Rank ranks, const std::function<Lateness()>& lateness) {
  const int calls = std::min(20000, 80000000 / ranks) / kBlock * kBlock;
  std::vector<Seconds> min = blocks(ranks, lateness(), calls);
  for (int run = 1; run < kRuns; ++run) {
    const std::vector<Seconds> times = blocks(ranks, lateness(), calls);
    for (std::size_t i = 0; i < times.size(); ++i) min[i] = std::min(min[i], times[i]);
  }
  Seconds sum = 0;
  for (const Seconds time : min) sum += time;
  return 1e6 * sum / calls;
}

TEST(ForecastCost, DISABLED_MicrosecondsACall) {
  std::printf("| ranks | balanced | one late | random | late in every 8th |\n");
  for (const Rank ranks : {2, 16, 48, 256, 1024, 4096}) {
    const double balanced = microseconds(ranks, [=] { return persistent(ranks, 0, 0); });
    const double late = microseconds(ranks, [=] { return persistent(ranks, 1, kMillisecond); });
    const double random = microseconds(ranks, [=] { return all_random(ranks, kMillisecond, 1); });
    const double eighth =
        microseconds(ranks, [=] { return periodic(ranks, 1, 8, 3, kMillisecond); });
    std::printf("| %d | %.2f | %.2f | %.2f | %.2f |\n", ranks, balanced, late, random, eighth);
  }
}

}  // namespace
}  // namespace latecomer
