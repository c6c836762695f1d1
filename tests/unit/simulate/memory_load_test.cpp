// The load of a node's memory, beside a slow reference that advances in small steps.
#include <gtest/gtest.h>

#include <map>

#include "base/reproducible.hpp"
#include "simulate/loads.hpp"

namespace latecomer {
namespace {

struct Asked {
  Ticks begin = 0;
  Ticks own = 0;
  double share = 0;
};

/// When each work ends, by its number.
std::map<Token, Ticks> ends(const std::vector<Asked>& asked) {
  MemoryLoad load;
  std::map<Token, Ticks> ended;
  std::size_t next = 0;
  while (next < asked.size() || !load.idle()) {
    const bool begins =
        next < asked.size() && (load.idle() || asked[next].begin <= load.next_end());
    if (begins) {
      const Asked& work = asked[next];
      load.begin(work.begin, work.own, work.share, {0, static_cast<Token>(next++)});
      continue;
    }
    const Ticks now = load.next_end();
    for (const MemoryLoad::Work& work : load.end(now)) ended[work.token] = now;
  }
  return ended;
}

std::map<Token, Ticks> ends_in_steps(const std::vector<Asked>& asked) {
  std::map<Token, Ticks> ended;
  std::vector<double> left;
  for (const Asked& work : asked) left.push_back(static_cast<double>(work.own));
  for (Ticks now = 0; ended.size() < asked.size(); ++now) {
    double load = 0;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (asked[i].begin <= now && left[i] > 0) load += asked[i].share;
    }
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (asked[i].begin > now || left[i] <= 0) continue;
      left[i] -= load > 1 ? 1 / load : 1;
      if (left[i] <= 0) ended[static_cast<Token>(i)] = now + 1;
    }
  }
  return ended;
}

TEST(MemoryLoad, WorkThatTheMemoryPassesIsNotSlowedDown) {
  EXPECT_EQ(ends({{0, 100, 0.5}, {10, 100, 0.5}}), (std::map<Token, Ticks>{{0, 100}, {1, 110}}));
}

TEST(MemoryLoad, WorkBeyondThatIsSlowedDownAlike) {
  EXPECT_EQ(ends({{0, 100, 1}, {0, 100, 1}}), (std::map<Token, Ticks>{{0, 200}, {1, 200}}));
  // Both take twice as long from 50 to 150; then the second one is alone.
  EXPECT_EQ(ends({{0, 100, 1}, {50, 100, 1}}), (std::map<Token, Ticks>{{0, 150}, {1, 200}}));
}

/// A little work beside much of others, as a late rank's beside copies of its mates, does not wait
/// for the end of theirs.
TEST(MemoryLoad, ALittleWorkIsSoonOver) {
  std::vector<Asked> asked(10, {0, 10000, 1});
  asked.push_back({0, 10, 1});
  EXPECT_EQ(ends(asked).at(10), 110);
}

TEST(MemoryLoad, EndsAsInSmallSteps) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<Asked> asked;
    Ticks begin = 0;
    for (int i = 0; i < 12; ++i) {
      begin += static_cast<Ticks>(random.below(2000));
      asked.push_back({begin, 1 + static_cast<Ticks>(random.below(5000)),
                       (1 + static_cast<double>(random.below(10))) / 10});
    }
    const auto exact = ends(asked);
    const auto stepped = ends_in_steps(asked);
    for (const auto& [work, end] : stepped) {
      EXPECT_NEAR(static_cast<double>(exact.at(work)), static_cast<double>(end), 30) << work;
    }
  }
}

}  // namespace
}  // namespace latecomer
