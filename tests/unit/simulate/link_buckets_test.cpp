// Calls find the bursts of links as earlier ones left them.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "algorithms/plans.hpp"
#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "simulate/simulate.hpp"

namespace latecomer {
namespace {

constexpr Count kBytes = 8;

Plan plan_of(Count count) {
  return {"by hand", {Collective::allreduce, 2, count, 1}, {}, {}, {}, {}};
}

/// Rank 0 sends rank 1 a message.
std::vector<Program> message_of(Count bytes) {
  Builder sender(plan_of(bytes), 0);
  Builder receiver(plan_of(bytes), 1);
  sender.send(1, sender.input({0, bytes}));
  receiver.recv(0, receiver.output({0, bytes}));
  return {sender.finish(), receiver.finish()};
}

/// The seconds of a call that begins at a time, on links as they were left.
Seconds time_of(Count bytes, const Network& network, LinkBuckets* buckets, Seconds began = 0,
                Placement nodes = {0, 1}) {
  SimulationOptions options;
  options.network = network;
  options.element_bytes = 1;
  options.links = {buckets, std::move(nodes), began};
  return simulate(message_of(bytes), options).last_exit();
}

const Network kBursty{.alpha = 1, .beta = 0.5, .gamma = 0, .burst = kBytes};

TEST(LinkBuckets, ABurstComesBackWithTime) {
  LinkBuckets buckets(2);
  EXPECT_EQ(time_of(kBytes, kBursty, &buckets), 1);
  EXPECT_EQ(time_of(kBytes, kBursty, &buckets, 1), 4);  // two bytes are back
  EXPECT_EQ(time_of(kBytes, kBursty, &buckets, 100), 1);
  EXPECT_EQ(time_of(kBytes, kBursty, nullptr), 1);
}

TEST(LinkBuckets, OtherLinksAndDirectionsAreFull) {
  LinkBuckets buckets(4);
  EXPECT_EQ(time_of(kBytes, kBursty, &buckets, 0, {0, 1}), 1);
  EXPECT_EQ(time_of(kBytes, kBursty, &buckets, 0, {2, 3}), 1);
  EXPECT_EQ(time_of(kBytes, kBursty, &buckets, 0, {1, 0}), 1);
  EXPECT_EQ(time_of(kBytes, kBursty, &buckets, 0, {3, 1}), 5);
}

TEST(LinkBuckets, TokensComeBackBeforeTheTimeZeroToo) {
  for (const Seconds begin : {-1e5, -9.0, 0.0, 1e5}) {
    LinkBuckets buckets(2);
    EXPECT_EQ(time_of(kBytes, kBursty, &buckets, begin), 1) << begin;
    EXPECT_EQ(time_of(kBytes, kBursty, &buckets, begin + 1), 4) << begin;
    EXPECT_EQ(time_of(kBytes, kBursty, &buckets, begin + 20), 1) << begin;
  }
}

/// A call that comes later in the order, but before it in time, loses no more than the burst.
TEST(LinkBuckets, ACallIsNeverSlowerThanWithoutABurst) {
  Network plain = kBursty;
  plain.burst = 0;
  Random random(1);
  LinkBuckets buckets(2);
  for (int turn = 0; turn < 1000; ++turn) {
    const auto began = 0.5 * static_cast<Seconds>(random.below(400));
    const auto bytes = static_cast<Count>(1 + random.below(20));
    const Seconds found = time_of(bytes, kBursty, &buckets, began);
    EXPECT_LE(found, time_of(bytes, plain, nullptr));
    EXPECT_GE(found, time_of(bytes, kBursty, nullptr));
  }
}

/// Tokens are counted one by one.
TEST(LinkBuckets, MessagesOneAfterTheOtherTakeWhatCountedTokensSay) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    Network network = kBursty;
    network.burst = static_cast<Count>(1 + random.below(30));
    LinkBuckets buckets(2);
    Seconds clock = 0;
    auto tokens = static_cast<double>(network.burst);
    for (int turn = 0; turn < 10; ++turn) {
      const auto bytes = static_cast<Count>(1 + random.below(40));
      const double at_once = std::min(tokens, static_cast<double>(bytes));
      const Seconds shaped = network.beta * (static_cast<double>(bytes) - at_once);
      if (random.below(3) == 0) {
        buckets.pass(network, 0, 1, clock, static_cast<double>(bytes));
      } else {
        EXPECT_NEAR(time_of(bytes, network, &buckets, clock), network.alpha + shaped, 1e-9)
            << "seed " << seed << ", turn " << turn;
      }
      const auto pause = 0.5 * static_cast<Seconds>(random.below(20));
      tokens = std::min(static_cast<double>(network.burst),
                        tokens - at_once + (network.alpha + pause) / network.beta);
      clock += network.alpha + shaped + pause;
    }
  }
}

TEST(LinkBuckets, NodesThatDoNotFitAreRefused) {
  LinkBuckets buckets(2);
  for (const Placement& nodes :
       {Placement{0}, Placement{0, 1, 1}, Placement{0, 2}, Placement{-1, 0}}) {
    EXPECT_THROW((void)time_of(kBytes, kBursty, &buckets, 0, nodes), Error);
  }
  EXPECT_THROW(buckets.pass(kBursty, 0, 2, 0, 8), Error);
  EXPECT_THROW(buckets.pass(kBursty, -1, 0, 0, 8), Error);
  EXPECT_THROW(buckets.pass(kBursty, 0, 1, 1e9, 8), Error);
  EXPECT_THROW(LinkBuckets(-1), Error);
}

}  // namespace
}  // namespace latecomer
