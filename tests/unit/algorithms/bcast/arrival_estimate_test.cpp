// The estimate of when ranks of an arrival broadcast leave, against the clock that plays every
// segment.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/bcast/arrival/arrival_clock.hpp"
#include "algorithms/bcast/arrival/estimate.hpp"
#include "base/random.hpp"
#include "unit/algorithms/networks.hpp"

namespace latecomer::bcast {
namespace {

const Network kWaiting{.alpha = 50e-6, .beta = 8e-9, .eager_limit = 0, .handshake = 100e-6};

double mean(const std::vector<Seconds>& times) {
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

std::vector<Seconds> played(const Network& network, Count bytes, const Feeding& feeding,
                            const std::vector<Seconds>& arrivals) {
  ArrivalClock clock(network, bytes, feeding, arrivals);
  clock.run();
  std::vector<Seconds> exits;
  for (Rank rank = 0; rank < feeding.ranks; ++rank) exits.push_back(clock.exit(rank));
  return exits;
}

TEST(ArrivalEstimate, IsNearTheClock) {
  constexpr Count kBytes = 4 << 20;
  double sum = 0;
  int cells = 0;
  for (const Network& network : {kSlow, kFast, kWaiting}) {
    for (const Count ahead : {0, 16}) {
      for (const Rank ranks : {3, 16, 33, 64}) {
        for (const double delay : {0.0, 0.5, 1.0, 10.0}) {
          for (const bool all : {false, true}) {
            const Seconds scale = network.transfer(kBytes);
            const Feeding feeding{ranks, ranks / 2, 128, ahead};
            Random random(static_cast<std::uint64_t>(ranks));
            std::vector<Seconds> arrivals(static_cast<std::size_t>(ranks), 0);
            for (Seconds& each : arrivals) each = all ? delay * scale * random.uniform() : 0;
            arrivals[ranks / 3] += delay * scale;
            const Count bytes = kBytes / feeding.segments;
            const double real = mean(played(network, bytes, feeding, arrivals));
            const double told = mean(estimated_exits(network, bytes, feeding, arrivals));
            const Seconds after_last = real - *std::ranges::max_element(arrivals);
            const double error = std::abs(told - real) / std::max(scale, after_last);
            EXPECT_LE(error, 0.5) << ranks << " ranks, delay " << delay << ", " << all << ", ahead "
                                  << ahead << ", " << to_string(network);
            sum += error;
            ++cells;
          }
        }
      }
    }
  }
  EXPECT_LE(sum / cells, 0.1);
}

TEST(ArrivalEstimate, OfNothingIsTheArrival) {
  const std::vector<Seconds> arrivals{3, 1, 2};
  EXPECT_EQ(estimated_exits(kSlow, 0, {3, 0, 0, 0}, arrivals), arrivals);
}

}  // namespace
}  // namespace latecomer::bcast
