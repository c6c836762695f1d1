#include "clocks/clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "patterns/trees.hpp"

namespace latecomer {
namespace {

constexpr Seconds kDay = 86400;

double between(Random& random, double low, double high) {
  return low + (high - low) * random.uniform();
}

/// A rank's clock against the true time, with a drift that may wander.
struct Clock {
  Seconds offset = 0;
  double drift = 0;
  double wander = 0;  // the most that the drift leaves its mean, in turns of ten minutes

  [[nodiscard]] Seconds at(Seconds true_time) const {
    const double turn = 2 * M_PI / 600;
    return offset + (1 + drift) * true_time + wander / turn * std::sin(turn * true_time);
  }
};

/// Ranks on a network that delays each message by a random time, more so in one direction.
class Machine {
 public:
  Machine(std::uint64_t seed, Rank ranks, double wander)
      : random_(seed), histories_(static_cast<std::size_t>(ranks)) {
    for (Rank r = 0; r < ranks; ++r) {
      const double drift = between(random_, -100e-6, 100e-6);
      clocks_.push_back({between(random_, 0, 30 * kDay), drift, wander});
    }
  }

  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(clocks_.size()); }
  [[nodiscard]] const ClockModel& model(Rank rank) const { return histories_[index(rank)].model(); }
  [[nodiscard]] Seconds now() const { return now_; }
  void wait(Seconds seconds) { now_ += seconds; }
  Random& random() { return random_; }

  /// Every rank asks its parent in the binomial tree.
  void synchronize(int questions) {
    for (Rank rank = 1; rank < ranks(); ++rank) {
      const Rank parent = binomial_node(ranks(), rank).parent;
      histories_[index(rank)].add(ask(rank, parent, questions));
    }
  }
  /// The error of a rank's common time, now.
  [[nodiscard]] Seconds mistake(Rank rank) const {
    return std::abs(model(rank).common(local(rank)) - local(0));
  }
  [[nodiscard]] Seconds reported(Rank rank) const { return model(rank).error_at(local(rank)); }

 private:
  static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] Seconds local(Rank rank) const { return clocks_[index(rank)].at(now_); }
  /// 20 us at least, often more, sometimes much more.
  Seconds delay(double factor) {
    return factor * (20e-6 - 30e-6 * std::log(1 - random_.uniform())) +
           (random_.below(10) == 0 ? 5e-3 * random_.uniform() : 0);
  }
  ClockModel ask(Rank rank, Rank parent, int questions) {
    std::vector<ClockSample> samples;
    Seconds peer_error = 0;
    for (int i = 0; i < questions; ++i) {
      const Seconds asked = local(rank);
      wait(delay(1));
      const Seconds peer = model(parent).common(local(parent));
      peer_error = std::max(peer_error, reported(parent));
      wait(delay(1.5));
      samples.push_back({asked, peer, local(rank)});
    }
    return fit(samples, peer_error);
  }

  Random random_;
  std::vector<Clock> clocks_;
  std::vector<ClockHistory> histories_;
  Seconds now_ = 0;
};

TEST(ClockFit, OneQuestionIsOffByHalfItsRoundTripAtMost) {
  const ClockModel model = fit({{100, 5000.5, 101}}, 0);
  EXPECT_DOUBLE_EQ(model.common(101), 5001);
  EXPECT_NEAR(model.error, 0.5, 2 * kLargestDrift);
  EXPECT_GT(model.error_at(1101) - model.error, 0.9 * kLargestDrift * 1000);
}

TEST(ClockFit, RangesOfTheOffsetAreIntersected) {
  // Offsets from 3 to 7, 6 to 10 and 2 to 12: from 6 to 7.
  const ClockModel model = fit({{0, 7, 4}, {4, 14, 8}, {8, 20, 18}}, 0);
  EXPECT_NEAR(model.offset, 6.5, 20 * kLargestDrift);
  EXPECT_NEAR(model.error, 0.5, 20 * kLargestDrift);
  EXPECT_DOUBLE_EQ(fit({{0, 7, 4}}, 2).error, fit({{0, 7, 4}}, 0).error + 2);
}

TEST(ClockFit, AClockThatIsSetMeanwhileIsReadAsItIsNow) {
  const ClockModel model = fit({{0, 10.5, 1}, {1, 11.5, 2}, {2, 112.5, 3}}, 0);
  EXPECT_NEAR(model.offset, 110, 1e-3);
  EXPECT_NEAR(model.error, 0.5, 1e-3);
}

TEST(ClockFit, NeedsAQuestion) {
  try {
    (void)fit({}, 0);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "number of clock samples: '0' is not usable; right would be one at least");
  }
}

ClockModel fit_of(Seconds origin, Seconds offset, Seconds error) {
  return {origin, offset, error, 0, kLargestDrift};
}

TEST(ClockHistory, BeforeTheFirstFitLocalTimeIsCommonTime) {
  const ClockHistory history;
  EXPECT_EQ(history.model().common(7), 7);
  EXPECT_EQ(history.model().error_at(7), 0);
}

TEST(ClockHistory, TellsTheDriftFromFitsFarApart) {
  ClockHistory history;
  for (const Seconds at : {0.0, 100.0}) history.add(fit_of(at, 5 + 80e-6 * at, 1e-4));
  EXPECT_NEAR(history.model().drift, 80e-6, 1e-6);
  EXPECT_LT(history.model().drift_error, 4e-6);
  EXPECT_GE(history.model().drift_error, 1e-6);  // (1e-4 + 1e-4) / 100
  EXPECT_NEAR(history.model().common(200), 205 + 80e-6 * 200, 100 * 4e-6);
}

TEST(ClockHistory, ABadFitDoesNotSpoilAGoodOne) {
  ClockHistory history;
  history.add(fit_of(0, 5, 1e-5));
  history.add(fit_of(1, 5 + 0.9, 1));
  EXPECT_NEAR(history.model().common(1), 6, 3e-4);
  EXPECT_LE(history.model().error, 3e-4);
}

TEST(ClockHistory, StartsAnewWhenAClockWasSet) {
  ClockHistory history;
  for (const Seconds at : {0.0, 50.0, 100.0}) history.add(fit_of(at, 5, 1e-4));
  history.add(fit_of(150, 65, 1e-4));
  EXPECT_EQ(history.model().offset, 65);
  EXPECT_EQ(history.model().error, 1e-4);
  EXPECT_EQ(history.model().drift_error, kLargestDrift);
  history.add(fit_of(250, 65 + 100 * 50e-6, 1e-4));
  EXPECT_NEAR(history.model().drift, 50e-6, 3e-6);
}

TEST(ClockHistory, ManyFitsInARowDoNotForgetTheDrift) {
  ClockHistory history;
  for (const Seconds at : {0.0, 100.0}) history.add(fit_of(at, 5, 1e-4));
  for (int i = 1; i < 50; ++i) history.add(fit_of(100 + 1e-3 * i, 5, 1e-4));
  EXPECT_LT(history.model().drift_error, 4e-6);
}

/// The reported error is the truth's bound on all ranks at all times, and a useful one.
void agree_within_the_reported_error(std::uint64_t seed, double wander) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random choice(seed);
  Machine machine(seed, 2 + static_cast<Rank>(choice.below(20)), wander);
  machine.synchronize(24);
  ClockRefresh refresh;
  while (machine.now() < 300) {
    machine.wait(between(machine.random(), 0, 3));
    if (refresh.due(machine.now())) machine.synchronize(6);
    for (Rank rank = 0; rank < machine.ranks(); ++rank) {
      ASSERT_LE(machine.mistake(rank), machine.reported(rank) + 1e-9) << "rank " << rank;
    }
  }
  machine.synchronize(6);
  for (Rank rank = 1; rank < machine.ranks(); ++rank) {
    EXPECT_LT(machine.reported(rank), 600e-6) << "rank " << rank;
    EXPECT_LT(machine.mistake(rank), 100e-6) << "rank " << rank;
    EXPECT_LT(machine.model(rank).drift_error, 10e-6) << "rank " << rank;
  }
}

TEST(Clock, RanksAgreeWithinTheReportedErrorWhateverTheirOffsetsAndDrifts) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) agree_within_the_reported_error(seed, 0);
}

TEST(Clock, RanksAgreeWithinTheReportedErrorWhileDriftsWander) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) agree_within_the_reported_error(seed, 0.15e-6);
}

TEST(ClockRefresh, IsSoonAtFirstAndRareLater) {
  ClockRefresh refresh;
  std::vector<Seconds> due;
  for (int i = 0; i <= 2000; ++i) {
    if (refresh.due(1e6 + 0.1 * i)) due.push_back(0.1 * i);
  }
  ASSERT_EQ(due.size(), 11U);
  EXPECT_NEAR(due[0], 0.5, 0.11);
  EXPECT_NEAR(due[1] - due[0], 1, 0.11);
  EXPECT_NEAR(due[10] - due[9], 32, 0.11);
}

TEST(ClockRefresh, IsNotDueWhenTimeGoesBack) {
  ClockRefresh refresh;
  EXPECT_FALSE(refresh.due(100));
  EXPECT_FALSE(refresh.due(90));
  EXPECT_TRUE(refresh.due(101));
}

}  // namespace
}  // namespace latecomer
