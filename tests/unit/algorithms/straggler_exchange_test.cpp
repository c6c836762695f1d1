// The rounds of straggler_exchange: their promises, and the programs that keep to them.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "algorithms/allreduce/straggler_exchange/rounds.hpp"
#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "patterns/powers.hpp"
#include "price/price.hpp"
#include "reference/sweeps.hpp"
#include "simulate/simulate.hpp"

namespace latecomer::allreduce {
namespace {

/// Which position has which blocks complete, while rounds pass.
class Spread {
 public:
  explicit Spread(Rank positions) : positions_(positions), rounds_(positions) {
    has_.assign(positions, std::vector<bool>(positions - 1, false));
  }

  void pass(Rank round) {
    auto after = has_;
    for (Rank me = 0; me < positions_; ++me) {
      const Exchange mine = rounds_.at(me, round);
      check_partner(me, mine, round);
      if (mine.sent == kNoBlock) continue;
      check_sent(me, mine, round);
      after[mine.partner][mine.sent] = true;
    }
    has_ = std::move(after);
  }

  [[nodiscard]] Rank rounds() const { return rounds_.count(); }
  [[nodiscard]] Rank holders(Rank block) const {
    return static_cast<Rank>(
        std::ranges::count_if(has_, [&](const auto& blocks) { return blocks[block]; }));
  }

 private:
  /// The partner's partner is this rank, and each expects the block that the other one sends.
  void check_partner(Rank me, const Exchange& mine, Rank round) const {
    EXPECT_NE(mine.partner, me);
    const Exchange theirs = rounds_.at(mine.partner, round);
    EXPECT_EQ(theirs, (Exchange{me, mine.received, mine.sent})) << "round " << round;
  }

  /// A rank sends only blocks that the receiver lacks; complete ones, except to and from the
  /// straggler.
  void check_sent(Rank me, const Exchange& mine, Rank round) const {
    EXPECT_FALSE(has_[mine.partner][mine.sent]) << "round " << round << ", to " << mine.partner;
    const Rank straggler = positions_ - 1;
    if (me != straggler && mine.partner != straggler) {
      EXPECT_TRUE(has_[me][mine.sent]) << "round " << round << ", from " << me;
    } else if (round < straggler) {
      EXPECT_EQ(mine.sent, round);
      EXPECT_EQ(std::min(me, mine.partner), round);
    } else {
      EXPECT_TRUE(has_[me][mine.sent]) << "round " << round << ", from " << me;
    }
  }

  Rank positions_;
  ExchangeRounds rounds_;
  std::vector<std::vector<bool>> has_;
};

class Rounds : public ::testing::TestWithParam<Rank> {};

/// The number of positions that have a block so many rounds after the one that completes it: twice
/// as many early ones each time, and the straggler, which only has time to spread the last block.
Rank doubled(Rank age, bool last, Rank positions) {
  if (age < 0) return 0;
  const Rank early = Rank{1} << std::min(age, floor_log2(positions));
  return std::min(positions, last ? 2 * early : early + 1);
}

TEST_P(Rounds, EveryBlockDoublesUntilAllHaveIt) {
  const Rank positions = GetParam();
  const Rank last = positions - 2;
  Spread spread(positions);
  EXPECT_EQ(spread.rounds(), last + floor_log2(positions));
  for (Rank round = 0; round < spread.rounds(); ++round) {
    spread.pass(round);
    for (Rank block = 0; block <= last; ++block) {
      EXPECT_EQ(spread.holders(block), doubled(round - block, block == last, positions))
          << "block " << block << " after round " << round;
    }
  }
  for (Rank block = 0; block <= last; ++block) EXPECT_EQ(spread.holders(block), positions);
}

INSTANTIATE_TEST_SUITE_P(PowersOfTwo, Rounds,
                         ::testing::Values(2, 4, 8, 16, 32, 64, 128,
                                           testing::kSanitized ? 256 : 512),
                         ::testing::PrintToStringParamName());

Plan plan_of(Rank ranks, Count count, const std::vector<Seconds>& arrivals) {
  const Algorithm& row = find_algorithm(Collective::allreduce, "straggler_exchange");
  return make_plan(row, {Collective::allreduce, ranks, count}, {}, {arrivals, {}});
}

/// In transfers, when a transfer takes 1 and all else nothing.
Seconds last_exit(const Plan& plan, const std::vector<Seconds>& arrivals) {
  SimulationOptions options;
  options.network = {.alpha = 1, .beta = 0, .gamma = 0};
  options.arrivals = arrivals;
  return simulate(build_programs(plan), options).last_exit();
}

TEST(StragglerExchange, TakesItsRoundsAfterTheLastArrival) {
  for (Rank ranks = 2; ranks <= 64; ranks *= 2) {
    for (const Rank late : {0, ranks / 3, ranks - 1}) {
      std::vector<Seconds> arrivals(static_cast<std::size_t>(ranks), 0);
      arrivals[late] = ranks;
      const Plan plan = plan_of(ranks, ranks, arrivals);
      EXPECT_DOUBLE_EQ(last_exit(plan, arrivals) - ranks, ranks - 2 + floor_log2(ranks))
          << "P=" << ranks << ", late " << late;
    }
  }
}

/// The reduce-scatter of the others takes P - 2 rounds: so late may the last rank be at no cost.
TEST(StragglerExchange, HidesItsReduceScatterBehindTheDelay) {
  for (Rank ranks = 4; ranks <= 64; ranks *= 2) {
    const Rank hidden = ranks - 2;
    for (const Rank delay : {0, 1, hidden / 2, hidden}) {
      std::vector<Seconds> arrivals(static_cast<std::size_t>(ranks), 0);
      arrivals[1] = delay;
      const Plan plan = plan_of(ranks, ranks, arrivals);
      EXPECT_DOUBLE_EQ(last_exit(plan, arrivals), 2 * hidden + floor_log2(ranks)) << ranks;
    }
  }
}

TEST(StragglerExchange, TheStragglerIsTheLastToArriveOrTheHighestRank) {
  EXPECT_EQ(plan_of(4, 4, {}).order, (std::vector<Rank>{0, 1, 2, 3}));
  EXPECT_EQ(plan_of(4, 4, {3, 9, 1, 2}).order, (std::vector<Rank>{0, 2, 3, 1}));
}

TEST(StragglerExchange, OtherNumbersOfRanksArePlannedAsThePrereducedRing) {
  const std::vector<Seconds> arrivals{0, 0, 1, 0, 0, 0};
  const Plan plan = plan_of(6, 100, arrivals);
  const Algorithm& row = find_algorithm(Collective::allreduce, "prereduced_ring");
  EXPECT_EQ(plan, make_plan(row, {Collective::allreduce, 6, 100}, {}, {arrivals, {}}));
  EXPECT_EQ(describe_parameters(plan, "straggler_exchange"), "as=prereduced_ring segments=6");
}

TEST(StragglerExchange, IsACandidateWhereItIsItselfAndCanBePriced) {
  const Algorithm& row = find_algorithm(Collective::allreduce, "straggler_exchange");
  const auto may = [&](Rank ranks) {
    return may_pay(row, {Collective::allreduce, ranks, 1 << 20, 4}, {});
  };
  EXPECT_TRUE(may(16));
  EXPECT_TRUE(may(128));
  EXPECT_FALSE(may(6));
  EXPECT_FALSE(may(256));
}

}  // namespace
}  // namespace latecomer::allreduce
