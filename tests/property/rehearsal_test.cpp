// Series of calls at random: always right, never stuck, never two plans, whatever is expected.
#include "rehearse/rehearsal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "algorithms/row.hpp"
#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "reference/sweeps.hpp"

namespace latecomer {
namespace {

Rehearsal::Setting some_setting(Random& random, Collective collective, const char* algorithm) {
  Rehearsal::Setting setting;
  setting.problem = {
      .collective = collective,
      .ranks = static_cast<Rank>(1 + random.next() % 12),
      .count = static_cast<Count>(1 + random.next() % (random.next() % 2 ? 20 : 3000)),
      .element_bytes = 4};
  setting.choice = parse_choice(collective, algorithm);
  if (rooted(collective)) {
    setting.problem.root = static_cast<Rank>(random.next() % setting.problem.ranks);
    // Only protocols serve elements that cannot be cut.
    if (random.next() % 2 == 0) setting.problem.count = 1, setting.problem.element_bytes = 100000;
  }
  setting.network.jitter = random.next() % 2 == 0 ? 0 : 2;  // transfers up to three times as long
  setting.network.eager_limit = random.next() % 2 == 0 ? 0 : 4096;
  // Plans are made for costs that are off by up to a hundred times.
  setting.assumed.alpha *= random.uniform() + 0.01;
  setting.assumed.beta *= 100 * random.uniform();
  setting.check = true;
  return setting;
}

/// Mostly like the last ones, with noise; sometimes unforeseeable.
std::vector<Seconds> some_arrivals(Random& random, Rank ranks, Rank late) {
  const Seconds scale = random.next() % 5 == 0 ? 1e-2 : 1e-4;
  std::vector<Seconds> arrivals;
  for (Rank rank = 0; rank < ranks; ++rank) arrivals.push_back(scale * random.uniform());
  arrivals[late % ranks] += 2e-3;
  return arrivals;
}

TEST(Rehearsal, IsAlwaysRightAndNeverStuck) {
  constexpr int kCalls = 40;  // enough for classes of calls to become active, and for a choice
  int calls = 0;
  for (const auto& [collective, algorithm] : {std::pair{Collective::allreduce, "auto"},
                                              {Collective::allreduce, "sorted_linear_tree"},
                                              {Collective::allreduce, "prereduced_ring"},
                                              {Collective::allreduce, "auto:random=1"},
                                              {Collective::allgather, "auto:random=2"},
                                              {Collective::reduce, "auto"},
                                              {Collective::reduce, "local_redirect"},
                                              {Collective::scatter, "auto"}}) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      SCOPED_TRACE(std::string(algorithm) + ", seed " + std::to_string(seed));
      Random random(seed);
      Rehearsal rehearsal(some_setting(random, collective, algorithm));
      const Rank ranks = rehearsal.setting().problem.ranks;
      Rank late = 0;
      for (int i = 0; i < kCalls; ++i, ++calls) {
        if (random.next() % 4 == 0) late = static_cast<Rank>(random.next() % 64);
        const std::vector<Seconds> arrivals = some_arrivals(random, ranks, late);
        const std::vector<Seconds> wrong(arrivals.rbegin(), arrivals.rend());
        const bool told = random.next() % 4 == 0;
        const auto call = rehearsal.call(arrivals, told ? &wrong : nullptr, random.next());
        ASSERT_EQ(call.wrong, Count{0});
        for (Rank rank = 0; rank < ranks; ++rank)
          ASSERT_GE(call.exits[rank] + 1e-11, arrivals[rank]);
      }
    }
  }
  EXPECT_EQ(calls, 8 * 60 * kCalls);
}

TEST(Rehearsal, TheLibrarysOwnCollectiveIsAlwaysACandidate) {
  Rehearsal::Setting setting;
  setting.problem = {.ranks = 8, .count = 1 << 16, .element_bytes = 4};
  setting.choice = parse_choice(Collective::allreduce, "auto");
  setting.native = parse_choice(Collective::allreduce, "ring");
  setting.assumed = {.alpha = 1, .beta = 0};  // short messages look dear, long ones free
  setting.network = {.alpha = 1e-6, .beta = 8e-9};
  Rehearsal rehearsal(setting);
  std::string last;
  for (int i = 0; i < 10; ++i) {
    last = rehearsal.call(std::vector<Seconds>(8, 0), nullptr, 1).algorithm;
  }
  EXPECT_EQ(last, "native");
}

/// Two ranks that send each other long messages take longer than assumed, so that the program with
/// the least price is not the best. Arrivals are balanced, or random and not to be forecast.
TEST(Rehearsal, TheChoiceEndsOnTheBestBalancedProgramOfAnotherNetworkThanAssumed) {
  for (const Rank ranks : {4, 7, 8, 16}) {
    for (const Seconds spread : {0.0, 0.02}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks within " + std::to_string(spread));
      Rehearsal::Setting setting;
      setting.problem = {.ranks = ranks, .count = 1 << 18, .element_bytes = 4};
      setting.native = parse_choice(Collective::allreduce, "rabenseifner");
      setting.network.beta = 5 * setting.assumed.beta;
      setting.network.exchange = 1.6;
      // The sum over the last 30 of 60 calls.
      const auto takes = [&](const std::string& algorithm) {
        setting.choice = parse_choice(Collective::allreduce, algorithm);
        Rehearsal rehearsal(setting);
        Random random(1);
        Seconds sum = 0;
        for (int i = 0; i < 60; ++i) {
          std::vector<Seconds> arrivals(static_cast<std::size_t>(ranks), 0);
          for (Seconds& arrival : arrivals) arrival = spread * random.uniform();
          const auto call = rehearsal.call(arrivals, nullptr, 1);
          if (i >= 30) sum += mean_exit_after_last(call.exits, arrivals);
        }
        return sum;
      };
      Seconds best = takes("rabenseifner");
      for (const char* row : {"fastest", "ring", "segmented_ring", "circulant"}) {
        best = std::min(best, takes(row));
      }
      EXPECT_LE(takes("auto"), 1.04 * best);
    }
  }
}

/// Any costs, paces and lengths: results stay right, and calls are delayed by what is charged.
TEST(Rehearsal, IsRightWhereFindingOutCostsAndLengthsAndPacesChange) {
  for (std::uint64_t seed = 1; seed <= (testing::kSanitized ? 1 : 30); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Rehearsal::Setting setting = some_setting(random, Collective::allreduce, "auto");
    // So long that the ranks compare their calls soon.
    const auto some_count = [&] { return static_cast<Count>(5000 + random.next() % 10000); };
    setting.problem.count = some_count();
    setting.charges = Charges{.connect = 1e-3 * random.uniform(),
                              .look = 1e-5 * random.uniform(),
                              .plan = {{{"fastest", 1e-4 * random.uniform()}}, 1e-5},
                              .price = {{}, 1e-5 * random.uniform()}};
    setting.cold = 1 + random.uniform();
    Rehearsal rehearsal(setting);
    const Rank ranks = setting.problem.ranks;
    Seconds finding_out = 0;
    for (int i = 0; i < 40; ++i) {
      if (random.next() % 8 == 0) {
        Problem problem = setting.problem;
        problem.count = some_count();
        rehearsal.change(problem, std::nullopt);
      }
      const std::vector<Seconds> arrivals = some_arrivals(random, ranks, 0);
      const Rehearsal::Pace pace{0.5 + random.uniform(), 0.5 + random.uniform()};
      const auto call = rehearsal.call(arrivals, nullptr, random.next(), pace);
      ASSERT_EQ(call.wrong, Count{0});
      ASSERT_GE(call.finding_out, -1e-11);
      finding_out += call.finding_out;
    }
    EXPECT_TRUE(ranks == 1 || finding_out > 0);
  }
}

/// A named algorithm costs connecting and one plan, in the first call.
TEST(Rehearsal, ChargesConnectingAndPlansOnce) {
  Rehearsal::Setting setting;
  setting.problem = {.ranks = 4, .count = 4096, .element_bytes = 4};
  setting.choice = parse_choice(Collective::allreduce, "ring");
  setting.plain = true;
  Rehearsal free(setting);
  setting.charges = Charges{.connect = 1e-3, .look = 1, .plan = {{{"ring", 1e-4}}, 1}, .price = {}};
  Rehearsal charged(setting);
  for (const Seconds expected : {1.1e-3, 0.0, 0.0}) {
    const auto call = charged.call({0, 0, 0, 0}, nullptr, 1);
    EXPECT_NEAR(call.finding_out, expected, 1e-9);
    EXPECT_NEAR(call.exits[0], free.call({0, 0, 0, 0}, nullptr, 1).exits[0] + expected, 1e-9);
  }
}

/// A library that nobody looks at costs nothing, and takes its own pace.
TEST(Rehearsal, TheLibraryAloneCostsNothing) {
  Rehearsal::Setting setting;
  setting.problem = {.ranks = 4, .count = 4096, .element_bytes = 4};
  setting.choice = parse_choice(Collective::allreduce, "native");
  setting.plain = true;
  setting.charges = Charges{.connect = 1, .look = 1, .plan = {{}, 1}, .price = {{}, 1}};
  Rehearsal rehearsal(setting);
  const auto usual = rehearsal.call({0, 0, 0, 0}, nullptr, 1);
  const auto slower = rehearsal.call({0, 0, 0, 0}, nullptr, 1, {2, 3});
  EXPECT_EQ(usual.algorithm, "native");
  EXPECT_EQ(usual.finding_out + slower.finding_out, 0);
  EXPECT_NEAR(slower.exits[0], 6 * usual.exits[0], 1e-9);
}

/// A change that is refused changes nothing.
TEST(Rehearsal, StaysAsItIsWhereAChangeIsRefused) {
  Rehearsal::Setting setting;
  setting.problem = {.ranks = 4, .count = 4096, .element_bytes = 4};
  setting.choice = parse_choice(Collective::allreduce, "auto");
  Rehearsal changed(setting);
  Rehearsal same(setting);
  Problem problem = setting.problem;
  problem.count = 64;
  problem.commutative = false;
  EXPECT_THROW(changed.change(problem, parse_choice(Collective::allreduce, "ring")), Error);
  EXPECT_EQ(changed.setting().problem, setting.problem);
  const std::vector<Seconds> together(4, 0);
  EXPECT_EQ(changed.call(together, nullptr, 1).exits, same.call(together, nullptr, 1).exits);
}

TEST(Rehearsal, RefusesWhatDoesNotFit) {
  Rehearsal::Setting setting;
  setting.problem = {.ranks = 4, .count = 16, .element_bytes = 4};
  setting.choice = parse_choice(Collective::allreduce, "auto");
  Rehearsal rehearsal(setting);
  EXPECT_THROW(rehearsal.call({0, 0, 0}, nullptr, 1), Error);
  EXPECT_THROW(rehearsal.change({.ranks = 5, .count = 16, .element_bytes = 4}, {}), Error);
  const std::vector<Seconds> together(4, 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<Seconds>& given : {std::vector<Seconds>{0}, {0, nan, 0, 0}})
    EXPECT_THROW(rehearsal.call(together, &given, 1), Error);
  EXPECT_THROW(rehearsal.call({0, nan, 0, 0}, nullptr, 1), Error);
  for (const double pace : {-1.0, 0.0, nan, std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(rehearsal.call(together, nullptr, 1, {pace, 1}), Error);
    EXPECT_THROW(rehearsal.call(together, nullptr, 1, {1, pace}), Error);
    setting.cold = pace;
    EXPECT_THROW(Rehearsal{setting}, Error);
  }
  setting.cold = 1;
  setting.problem.commutative = false;
  setting.native = parse_choice(Collective::allreduce, "ring");
  EXPECT_THROW(Rehearsal{setting}, Error);
}

}  // namespace
}  // namespace latecomer
