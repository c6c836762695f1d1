// Early owners: the timetable keeps its own rules, and is as short as it should be.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "algorithms/owners/timetable.hpp"
#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "patterns/powers.hpp"
#include "price/price.hpp"

namespace latecomer::owners {
namespace {

/// Carries a timetable out, hop by hop.
class Blocks {
 public:
  Blocks(Rank ranks, Count blocks)
      : ranks_(ranks), has_(static_cast<std::size_t>(blocks)), done_(has_.size()) {
    for (auto& contributions : has_) {
      contributions.resize(static_cast<std::size_t>(ranks));
      for (Rank rank = 0; rank < ranks; ++rank) contributions[rank] = {rank};
    }
  }

  void take(const Hop& hop) {
    ASSERT_NE(hop.from, hop.to);
    auto& partial = has_[hop.block];
    if (hop.final) {
      ASSERT_TRUE(complete(hop.from, hop.block)) << hop.from << " has no result to send";
      ASSERT_TRUE(done_[hop.block].insert(hop.to).second) << hop.to << " has it already";
      return;
    }
    ASSERT_FALSE(partial[hop.from].empty()) << hop.from << " has given its part away";
    ASSERT_FALSE(partial[hop.to].empty()) << hop.to << " has given its part away";
    partial[hop.to].merge(partial[hop.from]);
    ASSERT_TRUE(partial[hop.from].empty()) << "something was combined twice";
  }

  void expect_all_complete() {
    for (std::size_t block = 0; block < has_.size(); ++block) {
      EXPECT_EQ(has_[block][owner(block)].size(), static_cast<std::size_t>(ranks_));
      done_[block].insert(owner(block));
      EXPECT_EQ(done_[block].size(), static_cast<std::size_t>(ranks_)) << "block " << block;
    }
  }

 private:
  [[nodiscard]] bool complete(Rank rank, Count block) const {
    return rank == owner(block) ? has_[block][rank].size() == static_cast<std::size_t>(ranks_)
                                : done_[block].contains(rank);
  }
  [[nodiscard]] Rank owner(std::size_t block) const {
    return static_cast<Rank>(block % static_cast<std::size_t>(ranks_));
  }

  Rank ranks_;
  std::vector<std::vector<std::set<Rank>>> has_;  // by block and rank: the contributors
  std::vector<std::set<Rank>> done_;              // by block: the ranks that got the result
};

std::vector<Count> random_arrivals(Rank ranks, Count most, Random& random) {
  std::vector<Count> arrivals;
  for (Rank rank = 0; rank < ranks; ++rank) {
    arrivals.push_back(static_cast<Count>(random.uniform() * static_cast<double>(most + 1)));
  }
  return arrivals;
}

TEST(EarlyOwners, EveryBlockIsCombinedOnceAndReachesAll) {
  Random random(7);
  for (Rank ranks = 2; ranks <= 70; ranks += ranks < 18 ? 1 : 13) {
    for (const Count blocks : {1, 2, 5, 64, 65, 130}) {
      for (const Count most : {Count{0}, blocks / 2, 3 * blocks}) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(blocks) + " blocks");
        const std::vector<Count> arrivals = random_arrivals(ranks, most, random);
        const Timetable table = make_timetable(arrivals, blocks);
        EXPECT_EQ(table.hops.size(), static_cast<std::size_t>(Count{2} * (ranks - 1) * blocks));
        Blocks all(ranks, blocks);
        for (const Hop& hop : table.hops) ASSERT_NO_FATAL_FAILURE(all.take(hop));
        all.expect_all_complete();
        EXPECT_EQ(table.rounds, std::ranges::max(table.exits));
        EXPECT_GE(table.rounds - std::ranges::max(arrivals), std::min<Count>(ranks - 1, blocks));
      }
    }
  }
}

/// K - 1 + ceil(log2 P) rounds are the least for the blocks of one late rank. The two other ranks
/// of three cannot relieve each other in all rounds.
TEST(EarlyOwners, OneLateRankNeedsHardlyMoreThanTheLeastRounds) {
  for (const Rank ranks : {2, 3, 5, 8, 16, 31, 48, 64}) {
    for (const Count blocks : {16, 48, 96}) {
      std::vector<Count> arrivals(static_cast<std::size_t>(ranks), 0);
      arrivals[ranks / 2] = 4 * blocks;
      const Timetable table = make_timetable(arrivals, blocks);
      const Count after = table.rounds - 4 * blocks;
      const Count least = blocks - 1 + ceil_log2(ranks);
      EXPECT_GE(after, least) << ranks << " ranks, " << blocks << " blocks";
      EXPECT_LE(after, least + (ranks == 3 ? blocks / 12 : 3))
          << ranks << " ranks, " << blocks << " blocks";
    }
  }
}

/// So a timetable can be made while ranks arrive.
TEST(EarlyOwners, HopsDoNotDependOnLaterArrivals) {
  Random random(3);
  for (const Rank ranks : {2, 7, 16, 40}) {
    for (const Count blocks : {1, 16, 100}) {
      const std::vector<Count> arrivals = random_arrivals(ranks, 2 * blocks, random);
      const Count until = blocks;  // arrivals from then on are moved
      std::vector<Count> others = arrivals;
      for (Count& each : others) each += each >= until ? random_arrivals(1, blocks, random)[0] : 0;
      const Timetable one = make_timetable(arrivals, blocks);
      const Timetable other = make_timetable(others, blocks);
      const auto before = [&](const Timetable& table) {
        std::vector<std::array<Count, 4>> hops;
        for (const Hop& hop : table.hops) {
          if (hop.round < until) hops.push_back({hop.from, hop.to, hop.block, hop.final ? 1 : 0});
        }
        return hops;
      };
      EXPECT_EQ(before(one), before(other)) << ranks << " ranks, " << blocks << " blocks";
    }
  }
}

/// Lateness that is random within half to two vectors' times: the last exit after the last arrival,
/// in vectors, is well below that of a ring, 2 (P-1)/P.
TEST(EarlyOwners, LateRanksEvenOutWhatIsReceived) {
  const Rank ranks = 48;
  const Count blocks = 96;
  for (const auto& [spread, most] : {std::pair{48, 1.83}, {96, 1.6}, {192, 1.4}}) {
    double sum = 0;
    for (int draw = 1; draw <= 5; ++draw) {
      Random random(static_cast<std::uint64_t>(draw));
      const std::vector<Count> arrivals = random_arrivals(ranks, spread, random);
      const Timetable table = make_timetable(arrivals, blocks);
      sum += static_cast<double>(table.rounds - std::ranges::max(arrivals)) / blocks;
    }
    EXPECT_LE(sum / 5, most) << "lateness within " << spread << " rounds";
  }
}

// Plans are found again.

Plan planned(std::vector<Seconds> arrivals) {
  const auto ranks = static_cast<Rank>(arrivals.size());
  const Problem problem{Collective::allreduce, ranks, 1 << 20, 4};  // 34 ms on the network
  return make_plan(find_algorithm(Collective::allreduce, "early_owners"), problem, {},
                   {std::move(arrivals), {}});
}

TEST(EarlyOwners, HowLateALateRankIsMakesNoOtherPlan) {
  EXPECT_EQ(planned({0, 0, 0.1, 0, 0}), planned({0, 0, 5, 0, 0}));
  EXPECT_EQ(planned({0, 0, 0.1, 0, 0}), planned({3, 3, 5, 3, 3}));
  EXPECT_NE(planned({0, 0, 0.1, 0, 0}), planned({0, 0, 0.02, 0, 0}));
}

TEST(EarlyOwners, NoiseMakesNoOtherPlan) {
  EXPECT_EQ(planned({0, 1e-4, 0.1, 2e-4, 0}), planned({0, 0, 0.1, 1e-4, 1e-4}));
}

/// Blocks that take four times a start-up, where the link makes up for it; otherwise as many as the
/// start-ups pay for: sqrt(4 M / alpha).
TEST(EarlyOwners, HasMoreBlocksWhereLinksMakeUpForStartUps) {
  const Algorithm& row = find_algorithm(Collective::allreduce, "early_owners");
  const Problem problem{Collective::allreduce, 16, 1 << 20, 4};  // 168 ms
  const auto blocks = [&](Count burst) {
    const Network network{.alpha = 500e-6, .beta = 40e-9, .burst = burst};
    const std::vector<Seconds> arrivals = {0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    return make_plan(row, problem, {}, {arrivals, network}).parameters.at("blocks");
  };
  EXPECT_EQ(blocks(131072), 80);
  EXPECT_EQ(blocks(12499), 40);  // too short a burst: 500 us of the link
  EXPECT_EQ(blocks(0), 40);
}

TEST(EarlyOwners, HasNoMoreBlocksThanElementsOrThanCanBePlanned) {
  const Algorithm& row = find_algorithm(Collective::allreduce, "early_owners");
  const auto blocks = [&](Count count, Count asked) {
    const Problem problem{Collective::allreduce, 3, count, 4};
    return make_plan(row, problem, {{"blocks", asked}}, {}).parameters.at("blocks");
  };
  EXPECT_EQ(blocks(1 << 20, 1'000'000'000), 4096);
  EXPECT_EQ(blocks(10, 1'000'000'000), 10);
  EXPECT_EQ(blocks(0, 7), 1);
  EXPECT_EQ(blocks(1 << 20, 77), 77);
}

TEST(EarlyOwners, AnAllGatherOfMoreRanksIsRefused) {
  const Algorithm& row = find_algorithm(Collective::allgather, "online_owners");
  const auto plan_of = [&](Rank ranks) {
    return make_plan(row, {Collective::allgather, ranks, Count{ranks} * 8, 4}, {}, {});
  };
  EXPECT_EQ(plan_of(1024).problem.ranks, 1024);
  EXPECT_THROW((void)plan_of(1025), Error);
}

TEST(EarlyOwners, IsNoCandidateWhereItDoesNotPay) {
  const Algorithm& row = find_algorithm(Collective::allreduce, "early_owners");
  const Network network;
  EXPECT_TRUE(may_pay(row, {Collective::allreduce, 16, 1 << 20, 4}, network));
  EXPECT_FALSE(may_pay(row, {Collective::allreduce, 16, 16, 4}, network));
  EXPECT_FALSE(may_pay(row, {Collective::allreduce, 1024, 1 << 20, 4}, network));
}

}  // namespace
}  // namespace latecomer::owners
