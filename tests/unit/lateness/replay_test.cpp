// A job that is replayed as it was takes as long as it took.
#include "lateness/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/reproducible.hpp"
#include "reference/sweeps.hpp"

namespace latecomer {
namespace {

using Number = std::int64_t;

/// A job of whole seconds, so that all its sums are exact.
struct RandomJob {
  explicit RandomJob(Random& random) : ranks(1 + random.below(5)), start(ranks), last(ranks) {
    for (std::uint64_t i = 0; i < ranks; ++i) last[i] = start[i] = static_cast<Seconds>(i);
    for (std::uint64_t left = random.below(60); left > 0; --left) {
      const std::uint64_t who = random.below(ranks);
      last[who] += static_cast<Seconds>(random.below(5));
      if (random.below(2) == 0) {
        post_rank.push_back(static_cast<Number>(who));
        post_time.push_back(last[who]);
        next.push_back(-1);
        continue;
      }
      for (std::size_t i = 0; i < next.size(); ++i) {
        const bool waits = next[i] < 0 && post_rank[i] == static_cast<Number>(who);
        if (waits) next[i] = static_cast<Number>(rank.size());
      }
      rank.push_back(static_cast<Number>(who));
      begin.push_back(last[who]);
      end.push_back(last[who] += static_cast<Seconds>(random.below(9)));
      beyond.push_back(static_cast<double>(random.below(2)));
    }
    for (std::size_t i = 0; i < rank.size(); ++i) {
      cause.push_back(static_cast<Number>(random.below(post_rank.size() + 1)) - 1);
    }
    others_first.push_back(0);
    for (std::size_t i = 0; i < rank.size(); ++i) {
      while (!post_rank.empty() && random.below(3) == 0) {
        others.push_back(static_cast<Number>(random.below(post_rank.size())));
      }
      others_first.push_back(static_cast<Number>(others.size()));
    }
    zeros.assign(rank.size(), 0);
    meet(random);
    std::vector<std::pair<Seconds, Number>> moments;
    for (std::size_t i = 0; i < rank.size(); ++i) {
      moments.emplace_back(end[i], 2 * static_cast<Number>(i) + 1);
    }
    for (std::size_t i = 0; i < post_rank.size(); ++i) {
      moments.emplace_back(post_time[i], 2 * static_cast<Number>(i));
    }
    std::ranges::sort(moments);
    for (const auto& [time, which] : moments) order.push_back(which);
  }

  /// Any posts are members of meetings, and any calls wait in them.
  void meet(Random& random) {
    came_first.push_back(0);
    for (std::uint64_t left = random.below(4); left > 0; --left) {
      std::vector<std::pair<Seconds, Number>> members;
      for (std::size_t i = 0; i < post_rank.size(); ++i) {
        if (random.below(3) == 0) members.emplace_back(post_time[i], static_cast<Number>(i));
      }
      std::ranges::sort(members);
      for (const auto& [time, which] : members) came.push_back(which);
      came_first.push_back(static_cast<Number>(came.size()));
      for_all.push_back(static_cast<Number>(random.below(2)));
    }
    for (std::size_t i = 0; i < rank.size(); ++i) {
      meeting.push_back(static_cast<Number>(random.below(for_all.size() + 1)) - 1);
    }
  }

  [[nodiscard]] TracedJob job() const {
    return {{rank, begin, end, zeros, cause, {others_first, others}, meeting, zeros, beyond},
            {post_rank, post_time, next},
            {{came_first, came}, for_all},
            order,
            start};
  }

  std::uint64_t ranks;
  std::vector<Number> rank, cause, zeros, post_rank, next, order;
  std::vector<Number> others_first, others, meeting, came_first, came, for_all;
  std::vector<Seconds> begin, end, post_time, beyond, start;
  std::vector<Seconds> last;  // when each rank left its last call, or posted
};

Seconds sum(const std::vector<Seconds>& of) {
  Seconds all = 0;
  for (const Seconds each : of) all += each;
  return all;
}

TEST(Replay, WithoutAChangeIsWhatWasMeasured) {
  for (int seed = 1; seed <= testing::random_runs(2000); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(static_cast<std::uint64_t>(seed));
    const RandomJob made(random);
    const std::vector<double> less(made.beyond.size());
    const std::vector<double> moving(made.beyond.size(), 1.0);
    Change change;
    change.less = less;
    change.moving = moving;
    // Half of the jobs have a collective that is carried out anew, as it was: its exits are those.
    std::vector<Number> members;
    for (std::size_t i = 0; i < made.rank.size() && seed % 2 == 0; ++i) {
      if (random.below(4) == 0) members.push_back(static_cast<Number>(i));
    }
    const std::vector<Number> first{0, static_cast<Number>(members.size())};
    const auto exits = [&](std::size_t, std::span<const Seconds> arrivals) {
      std::vector<Seconds> found;
      for (std::size_t i = 0; i < members.size(); ++i) {
        const auto call = static_cast<std::size_t>(members[i]);
        EXPECT_EQ(arrivals[i], made.begin[call]);
        found.push_back(made.end[call]);
      }
      return found;
    };
    if (!members.empty()) change.anew = {{first, members}, exits};

    const std::size_t cut = random.below(made.order.size() + 1);
    const std::vector<Stretch> stretches{{0, cut}, {cut, made.order.size()}};
    const std::vector<Replayed> found = replay(made.job(), change, stretches);
    ASSERT_EQ(found.size(), 2U);
    Seconds inside = 0;
    for (std::size_t i = 0; i < made.rank.size(); ++i) inside += made.end[i] - made.begin[i];
    EXPECT_EQ(found[0].waiting + found[1].waiting + found[0].moving + found[1].moving, inside);
    for (const Replayed& each : found) {
      EXPECT_EQ(each.ahead, std::vector<Seconds>(made.ranks));
      EXPECT_GE(each.waiting, 0);
      EXPECT_GE(each.moving, 0);
    }
    EXPECT_EQ(found[0].from, sum(made.start) / static_cast<double>(made.ranks));
    EXPECT_EQ(found[0].until, found[1].from);
    EXPECT_EQ(found[1].until, sum(made.last) / static_cast<double>(made.ranks));
    if (::testing::Test::HasFailure()) break;
  }
}

/// The moments of a rank in an order.
std::vector<Number> of_rank(const TracedJob& job, const std::vector<Number>& order, Number rank) {
  std::vector<Number> found;
  for (const Number each : order) {
    const auto which = static_cast<std::size_t>(each >> 1);
    const Number own = (each & 1) != 0 ? job.calls.rank[which] : job.posts.rank[which];
    if (own == rank) found.push_back(each);
  }
  return found;
}

TEST(CausalOrder, KeepsThatOfEachRank) {
  for (int seed = 1; seed <= testing::random_runs(500); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(static_cast<std::uint64_t>(seed));
    RandomJob made(random);
    if (!made.order.empty() && seed % 3 == 0) made.order.pop_back();  // some moment never comes
    const std::vector<Number> found = causal_order(made.job());
    for (Number rank = 0; rank < static_cast<Number>(made.ranks); ++rank) {
      ASSERT_EQ(of_rank(made.job(), found, rank), of_rank(made.job(), made.order, rank));
    }
    ASSERT_EQ(found.size(), made.order.size());
  }
}

TEST(CausalOrder, PutsEndsBehindWhatTheyWaitFor) {
  // Rank 0's call 0 waits for rank 1's post 1, by a clock that is off, and rank 0 posts 0 then.
  const std::vector<Number> rank{0, 1}, none{-1, -1}, zeros(2), next{-1, 1}, other{0, 1};
  std::vector<Number> cause{1, -1};
  const std::vector<Seconds> begin{0, 5}, end{1, 6}, beyond(2), time{2, 5}, start{0, 0};
  const std::vector<Number> by_time{1, 0, 2, 3}, right{2, 1, 0, 3};
  const auto job = [&] {
    return TracedJob{{rank, begin, end, zeros, cause, {}, none, zeros, beyond},
                     {other, time, next},
                     {},
                     by_time,
                     start};
  };
  EXPECT_EQ(causal_order(job()), right);
  cause = {0, -1};  // for its own post: that holds nothing up
  EXPECT_EQ(causal_order(job()), by_time);
}

TEST(CausalOrder, LeavesTheOrderOfTimeToWhatWaitsForEachOther) {
  // Each rank's call waits for what the other does behind its own.
  const std::vector<Number> rank{0, 1}, none{-1, -1}, zeros(2), cause{1, 0};
  const std::vector<Seconds> begin{0, 0}, end{1, 1}, beyond(2), time{2, 3}, start{0, 0};
  const std::vector<Number> by_time{1, 3, 0, 2};
  const TracedJob job{{rank, begin, end, zeros, cause, {}, none, zeros, beyond},
                      {rank, time, none},
                      {},
                      by_time,
                      start};
  EXPECT_EQ(causal_order(job), by_time);
}

}  // namespace
}  // namespace latecomer
