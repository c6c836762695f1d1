// The timetables of logs: all logs of few ranks, and random ones of many.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "algorithms/owners/online_rank.hpp"
#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/reproducible.hpp"
#include "reference/sweeps.hpp"
#include "verify/verify.hpp"

namespace latecomer::owners {
namespace {

/// By rank: the round in which it is entered.
using Entries = std::vector<Count>;
using HopNumbers = std::array<Count, 5>;

HopNumbers numbers(const Hop& hop) {
  return {hop.from, hop.to, hop.block, hop.final ? 1 : 0, hop.round};
}

std::vector<HopNumbers> numbers(const std::vector<Hop>& hops, Count end) {
  std::vector<HopNumbers> all;
  for (const Hop& hop : hops) {
    if (hop.round < end) all.push_back(numbers(hop));
  }
  return all;
}

std::vector<Rank> order_of(const Entries& entries) {
  std::vector<Rank> order(entries.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](Rank rank) { return entries[rank]; });
  return order;
}

std::string in_words(const Entries& entries, Count blocks) {
  std::string text = std::to_string(blocks) + " blocks, entries";
  for (const Count each : entries) text += " " + std::to_string(each);
  return text;
}

/// All of so many ranks with rounds up to `most`, the first one 0.
std::vector<Entries> all_logs(Rank ranks, Count most) {
  std::vector<Entries> all;
  Entries entries(static_cast<std::size_t>(ranks), 0);
  while (true) {
    if (std::ranges::min(entries) == 0) all.push_back(entries);
    const auto next = std::ranges::find_if(entries, [&](Count each) { return each < most; });
    if (next == entries.end()) return all;
    ++*next;
    std::fill(entries.begin(), next, 0);
  }
}

/// Calls visit(entries, blocks) for all logs of up to four ranks.
template <class Visit>
void for_all_logs(const Visit& visit) {
  for (Rank ranks = 2; ranks <= 4; ++ranks) {
    for (const Count blocks : {Count{1}, Count{ranks}, Count{2} * ranks + 1}) {
      const Count most = std::min<Count>(2 * blocks + 2, ranks == 4 ? 9 : 16);
      for (const Entries& entries : all_logs(ranks, testing::kSanitized ? 2 : most)) {
        visit(entries, blocks);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Logs, EachIsAProgramThatTheVerifierAccepts) {
  const Algorithm& row = find_algorithm(Collective::allreduce, "early_owners");
  for_all_logs([&](const Entries& entries, Count blocks) {
    const Problem problem{Collective::allreduce, static_cast<Rank>(entries.size()), blocks};
    Plan plan = make_plan(row, problem, {{"blocks", blocks}}, {});
    plan.table = entries;
    check_plan(plan);
    const auto found = verify(plan.problem, build_programs(plan));
    EXPECT_FALSE(found) << found->rule << ": " << found->text << in_words(entries, blocks);
  });
}

/// One rank that hears a log, and for which all that it posts is done at once.
class Listener {
 public:
  Listener(const Entries& entries, Count blocks, Rank coordinator, Rank me)
      : call_{static_cast<Rank>(entries.size()), blocks, coordinator, kAnyRound, 1, kAllRanks},
        rank_(call_, me) {}

  void hear(const Entries& entries, Rank me) {
    OnlineRank::Step step;
    rank_.arrive(step);
    follow(step);
    LogMessage message{LogMessage::Kind::update, 0, {}};
    const std::vector<Rank> order = order_of(entries);
    for (std::size_t i = 0; i < order.size(); ++i) {
      message.entries.push_back({order[i], entries[order[i]]});
      const bool last = i + 1 == order.size();
      const Count next = last ? entries[order[i]] + 1 : entries[order[i + 1]];
      if (next == entries[order[i]] || entries[order[i]] < entries[me]) continue;
      message.round = next;
      // All are children of the first one, which is the coordinator's.
      const Rank parent = order[0] == me ? call_.coordinator : order[0];
      ASSERT_TRUE(rank_.log().can_come(parent, message)) << in_words(entries, call_.blocks);
      step = {};
      rank_.hear(parent, message, step);
      follow(step);
      message.entries.clear();
    }
    EXPECT_TRUE(rank_.done()) << in_words(entries, call_.blocks);
  }
  [[nodiscard]] const std::vector<HopNumbers>& hops() const { return hops_; }

 private:
  static constexpr Count kAnyRound = 1000;
  static constexpr Rank kAllRanks = 64;

  void follow(const OnlineRank::Step& first) {
    std::vector<OnlineRank::Step> open = {first};
    while (!open.empty()) {
      const OnlineRank::Step step = open.back();
      open.pop_back();
      for (const std::size_t each : step.send) {
        hops_.push_back(numbers(rank_.send_hop(each)));
        rank_.sent(each, open.emplace_back());
      }
      for (const std::size_t each : step.receive) {
        hops_.push_back(numbers(rank_.receive_hop(each)));
        rank_.received(each, open.emplace_back());
        if (!rank_.receive_hop(each).final) rank_.combined(each, open.emplace_back());
      }
    }
  }

  OnlineCall call_;
  OnlineRank rank_;
  std::vector<HopNumbers> hops_;
};

TEST(Logs, RanksCarryOutTheTimetableOfEach) {
  for_all_logs([&](const Entries& entries, Count blocks) {
    const Timetable table = make_timetable(entries, blocks);
    const Rank coordinator = order_of(entries).back();
    for (Rank me = 0; me < static_cast<Rank>(entries.size()); ++me) {
      if (me == coordinator) continue;  // it writes the log itself
      Listener rank(entries, blocks, coordinator, me);
      ASSERT_NO_FATAL_FAILURE(rank.hear(entries, me));
      std::vector<HopNumbers> hops = rank.hops();
      std::vector<HopNumbers> right;
      for (const Hop& hop : table.hops) {
        if (hop.from == me || hop.to == me) right.push_back(numbers(hop));
      }
      std::ranges::sort(hops);
      std::ranges::sort(right);
      EXPECT_EQ(hops, right) << "rank " << me << ", " << in_words(entries, blocks);
    }
  });
}

/// A log of up to 64 ranks and 130 blocks.
struct RandomLog {
  explicit RandomLog(Random& random)
      : blocks(static_cast<Count>(1 + random.below(130))), entries(2 + random.below(63)) {
    const std::uint64_t spread = 1 + random.below(static_cast<std::uint64_t>(3 * blocks));
    for (Count& each : entries) each = static_cast<Count>(random.below(spread));
  }
  Count blocks;
  Entries entries;
};

TEST(Logs, AfterTheLastEntryNoRoundIsWithoutHops) {
  Random seeds(8);
  for (int i = 0; i < testing::random_runs(400); ++i) {
    const std::uint64_t seed = seeds.next();
    Random random(seed);
    const RandomLog log(random);
    const Timetable table = make_timetable(log.entries, log.blocks);
    Count next = std::ranges::max(log.entries);
    for (const Hop& hop : table.hops) {
      if (hop.round < next) continue;
      ASSERT_LE(hop.round, next + 1) << "seed " << seed;
      next = hop.round;
    }
    ASSERT_EQ(next + 1, table.rounds) << "seed " << seed;
  }
}

/// A timetable that is extended entry by entry never depends on entries to come.
TEST(Logs, TheTimetableIsMadeEntryByEntry) {
  Random seeds(9);
  for (int i = 0; i < testing::random_runs(60); ++i) {
    const std::uint64_t seed = seeds.next();
    Random random(seed);
    const RandomLog log(random);
    const auto ranks = static_cast<Rank>(log.entries.size());
    const Timetable table = make_timetable(log.entries, log.blocks);
    const Count watched = log.entries[random.below(log.entries.size())];
    TimetableBuilder builder(ranks, log.blocks);
    for (const Rank rank : order_of(log.entries)) {
      const Count round = log.entries[rank];
      builder.fill_until(round / 2);  // in several parts, also of no rounds
      builder.fill_until(round);
      ASSERT_EQ(builder.round(), round);
      if (round == watched) {
        ASSERT_EQ(numbers(builder.hops(), round), numbers(table.hops, round)) << "seed " << seed;
      }
      builder.add(rank);
    }
    builder.fill_until(table.rounds);
    ASSERT_TRUE(builder.complete()) << "seed " << seed;
    ASSERT_EQ(numbers(builder.hops(), table.rounds), numbers(table.hops, table.rounds))
        << "seed " << seed;
  }
}

TEST(Logs, WithoutHopsATimetableIsDryUntilARankIsAdded) {
  TimetableBuilder builder(3, 2);
  EXPECT_TRUE(builder.dry());
  builder.add(1);
  EXPECT_FALSE(builder.dry());
  builder.fill_until(5);
  EXPECT_TRUE(builder.dry());
  EXPECT_EQ(builder.round(), 5);
  EXPECT_TRUE(builder.hops().empty());
  builder.add(0);
  builder.fill_until(9);
  EXPECT_TRUE(builder.dry());
  ASSERT_FALSE(builder.hops().empty());
  EXPECT_EQ(builder.hops().front().round, 5);
  builder.add(2);
  builder.fill_until(100);
  EXPECT_TRUE(builder.complete());
  EXPECT_EQ(builder.hops().size(), 8U);
}

}  // namespace
}  // namespace latecomer::owners
