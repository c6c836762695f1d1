// How many calls of many kinds of programs are forecast rightly. It tests nothing, so it runs only
// where asked for (docs/decisions/0013-forecast.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "forecast/forecast.hpp"
#include "forecast/pattern.hpp"
#include "unit/forecast/histories.hpp"

namespace latecomer {
namespace {

using namespace testing;

constexpr int kCalls = 400;
constexpr int kSeeds = 10;

/// Draws the lateness of a program, late by `delay`.
using Kind = std::function<Lateness(Rank ranks, Seconds delay, Random random)>;

Rank some(Rank ranks, Random& random) {
  return static_cast<Rank>(random.below(static_cast<std::uint64_t>(ranks)));
}

/// From `min` up to `max`.
int between(int min, int max, Random& random) { return min + some(max - min + 1, random); }

Kind in_every_kth_call(int min, int max) {
  return [=](Rank ranks, Seconds delay, Random random) {
    return periodic(ranks, some(ranks, random), between(min, max, random), 1, delay);
  };
}

/// The late ranks are those of a loop that is drawn.
Lateness loop_over(Rank ranks, Seconds delay, std::vector<Rank> loop) {
  return [=](int call) {
    return one_late(ranks, loop[static_cast<std::size_t>(call) % loop.size()], delay);
  };
}

Lateness random_loop(Rank ranks, Seconds delay, Random random) {
  std::vector<Rank> loop(static_cast<std::size_t>(between(2, 12, random)));
  for (Rank& rank : loop) rank = some(ranks, random);
  return loop_over(ranks, delay, loop);
}

Lateness mostly_one(Rank ranks, Seconds delay, Random random) {
  std::vector<Rank> loop(static_cast<std::size_t>(between(3, 16, random)), some(ranks, random));
  loop[0] = some(ranks, random);
  return loop_over(ranks, delay, loop);
}

Lateness staircase(Rank ranks, Seconds delay, Random random) {
  return [late = random_times(ranks, delay, random)](int) { return late; };
}

/// Each rank becomes later or earlier by a little.
Lateness drift(Rank ranks, Seconds delay, Random random) {
  return [=, late = random_times(ranks, delay, random)](int) mutable {
    for (Seconds& time : late) time = std::abs(time + delay * (random.uniform() - 0.5) / 3);
    return late;
  };
}

/// One of 40 calls has another rank that is late by five times as much.
Kind with_hiccups(const Kind& kind) {
  return [=](Rank ranks, Seconds delay, Random random) {
    return [=, usual = kind(ranks, delay, random)](int call) mutable {
      Times late = usual(call);
      if (random.below(40) == 0) late[static_cast<std::size_t>(some(ranks, random))] += 5 * delay;
      return late;
    };
  };
}

/// Nothing is late at first.
Kind later(const Kind& kind) {
  return [=](Rank ranks, Seconds delay, Random random) {
    return [=, usual = kind(ranks, delay, random)](int call) {
      return call < kCalls / 3 ? Times(static_cast<std::size_t>(ranks)) : usual(call);
    };
  };
}

Lateness one(Rank ranks, Seconds delay, Random random) {
  return persistent(ranks, some(ranks, random), delay);
}

struct Named {
  const char* name;
  Kind kind;
  bool exits_change = false;
};

std::vector<Named> kinds() {
  const Kind eighth = in_every_kth_call(3, 8);
  return {
      {"one rank", one},
      {"another one after 30 calls",
       [](Rank ranks, Seconds delay, Random random) {
         return changing(ranks, 30, delay, random.next());
       }},
      {"the next one",
       [](Rank ranks, Seconds delay, Random random) {
         return wandering(ranks, 1 + some(ranks - 1, random), delay);
       }},
      {"a loop of up to 12", random_loop},
      {"one, but another every 3rd to 16th call", mostly_one},
      {"one in every 3rd to 8th call", eighth},
      {"one in every 9th to 32nd call", in_every_kth_call(9, 32)},
      {"all, always as late", staircase},
      {"one ever later",
       [](Rank ranks, Seconds delay, Random random) {
         return growing(ranks, some(ranks, random), delay / 10);
       }},
      {"all, drifting", drift},
      {"one, and hiccups", with_hiccups(one)},
      {"one in every 3rd to 8th call, and hiccups", with_hiccups(eighth)},
      {"one, but first none", later(one)},
      {"one in every 3rd to 8th call, but first none", later(eighth)},
      {"one, and exits change", one, true},
      {"one in every 3rd to 8th call, and exits change", eighth, true},
      {"any one", [](Rank ranks, Seconds delay,
                     Random random) { return one_random(ranks, delay, random.next()); }},
      {"all at random", [](Rank ranks, Seconds delay,
                           Random random) { return all_random(ranks, delay, random.next()); }},
      {"nobody", [](Rank ranks, Seconds, Random) { return persistent(ranks, 0, 0); }},
  };
}

struct Share {
  double right = 0;
  double wrong = 0;
};

Share share_of(const Named& named, Rank ranks, Seconds noise, std::uint64_t seed) {
  Random random(seed);
  Lateness lateness = named.kind(ranks, 1, random);
  Loop loop(ranks, noise, random.next());
  Forecast forecast(ranks);
  Times exits;
  Share share;
  for (int call = 0; call < kCalls; ++call) {
    if (named.exits_change && call % 20 == 0) exits = random_times(ranks, 2, random);
    const Observation seen = loop.call(lateness(call), exits);
    const Estimate estimate = forecast.next();
    forecast.observe(seen);
    if (!estimate.trusted) continue;
    const Seconds misplaced = misplacement(estimate.arrivals, seen.arrivals);
    (misplaced < imbalance(seen.arrivals) / 2 ? share.right : share.wrong) += 1.0 / kCalls;
  }
  return share;
}

TEST(ForecastShare, DISABLED_OfCallsForecastRightlyAndWrongly) {
  std::printf("| late | rightly | wrongly |\n");
  Share all;
  for (const Named& named : kinds()) {
    Share sum;
    int count = 0;
    for (const Rank ranks : {2, 3, 4, 8, 16, 48}) {
      for (const Seconds noise : {0.01, 0.05, 0.2}) {
        for (std::uint64_t seed = 1; seed <= kSeeds; ++seed, ++count) {
          const Share share = share_of(named, ranks, noise, seed);
          sum.right += share.right;
          sum.wrong += share.wrong;
        }
      }
    }
    std::printf("| %s | %.1f | %.2f |\n", named.name, 100 * sum.right / count,
                100 * sum.wrong / count);
    all.right += sum.right / count;
    all.wrong += sum.wrong / count;
  }
  const auto count = static_cast<double>(kinds().size());
  std::printf("| mean | %.1f | %.2f |\n", 100 * all.right / count, 100 * all.wrong / count);
}

}  // namespace
}  // namespace latecomer
