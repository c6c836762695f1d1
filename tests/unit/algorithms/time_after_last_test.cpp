// How soon after the last arrival ranks are predicted to leave, against the virtual network.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.hpp"
#include "parties/make_party.hpp"
#include "reference/reference.hpp"
#include "unit/algorithms/networks.hpp"

namespace latecomer {
namespace {

const Network kWaiting{.alpha = 50e-6, .beta = 8e-9, .gamma = 0.1e-9, .eager_limit = 0};

Seconds simulated(const Plan& plan, const Network& network, const std::vector<Seconds>& arrivals) {
  SimulationOptions options;
  options.network = network;
  options.arrivals = arrivals;
  options.element_bytes = plan.problem.element_bytes;
  const Simulation result = simulate(make_parties(plan, network), options);
  const Seconds sum = std::accumulate(result.exits.begin(), result.exits.end(), 0.0);
  return sum / plan.problem.ranks - *std::max_element(arrivals.begin(), arrivals.end());
}

/// One rank late, or all at random, or each later than the one before; by up to `delay`.
std::vector<Seconds> some_arrivals(Rank ranks, Seconds delay, int kind) {
  Random random(static_cast<std::uint64_t>(ranks));
  std::vector<Seconds> arrivals(static_cast<std::size_t>(ranks), 0);
  for (Rank rank = 0; rank < ranks; ++rank) {
    if (kind == 1) arrivals[rank] = delay * random.uniform();
    if (kind == 2) arrivals[rank] = delay * rank / ranks;
  }
  arrivals[ranks / 3] = std::max(arrivals[ranks / 3], kind == 0 ? delay : 0);
  return arrivals;
}

constexpr int kKinds = 3;

/// All networks, sizes and arrivals of `ranks` ranks.
template <class Check>
void in_every_cell(Collective collective, Rank ranks, Check&& check) {
  for (const Network& network : {kSlow, kFast, kWaiting}) {
    for (const Count bytes : {1 << 10, 64 << 10, 4 << 20}) {
      for (const double delay : {0.0, 0.1, 0.5, 1.0, 2.0, 10.0}) {
        for (int kind = 0; kind < kKinds; ++kind) {
          SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(bytes) + " bytes, " +
                       to_string(network) + ", delay " + std::to_string(delay) + " of kind " +
                       std::to_string(kind));
          check(Problem{collective, ranks, bytes / 4, 4}, network,
                some_arrivals(ranks, delay * network.transfer(bytes), kind));
        }
      }
    }
  }
}

/// What a difference of times is set against. In a rooted collective ranks may leave before the
/// last one arrives, so that their mean may be anything: then the vector's time on a link.
Seconds scale(Seconds mean, const Problem& problem, const Network& network) {
  return std::max(mean, network.transfer(problem.bytes()));
}

Plan planned(std::string_view name, const Problem& problem, const Network& network,
             const std::vector<Seconds>& arrivals) {
  return make_plan(find_algorithm(problem.collective, name), problem, {}, {arrivals, network});
}

/// Every second part twice as long as the others.
void make_uneven(Problem& problem) {
  if (!parted(problem.collective)) return;
  const Count third = problem.count / problem.ranks * 2 / 3;
  for (Rank rank = 0; rank < problem.ranks; ++rank) {
    problem.parts.push_back(rank % 2 == 0 ? third : 2 * third);
  }
  problem.count = std::accumulate(problem.parts.begin(), problem.parts.end(), Count{0});
}

class TimeAfterLast : public ::testing::TestWithParam<const Algorithm*> {};

/// How far off it may be. Of messages that wait for others' in recursive doubling the closed form
/// knows less; in trees it takes those that come at the same time in the tree's order.
double allowed_mean(const Algorithm& row) {
  if (row.name == "recursive_doubling") return 0.3;
  // Who merges with whom is decided by who is first, where all are about as early as each other.
  if (row.kind == Kind::protocol) return 1;
  // Its timetable is in rounds: who arrives within one waits for the next.
  if (row.name == "early_owners") return 0.3;
  return row.name == "static_tree" || row.name == "binomial" ? 0.01 : 0.001;
}

TEST_P(TimeAfterLast, FollowsTheVirtualNetwork) {
  const Algorithm& row = *GetParam();
  double sum = 0;
  int cells = 0;
  for (const Rank ranks : {1, 2, 3, 4, 5, 8, 13, 16, 33}) {
    in_every_cell(row.collective, ranks,
                  [&](const Problem& problem, const Network& network, const auto& arrivals) {
                    const Plan plan = planned(row.name, problem, network, arrivals);
                    const Seconds real = simulated(plan, network, arrivals);
                    const Seconds error = std::abs(mean_after_last(plan, network, arrivals) - real);
                    EXPECT_LE(error, allowed_mean(row) * scale(real, problem, network) + 1e-12);
                    sum += error / scale(real, problem, network);
                    ++cells;
                  });
  }
  EXPECT_LE(sum / cells, 0.05);
}

class TimeAfterLastOfMoves : public TimeAfterLast {};

/// Where ranks receive before they arrive, from another root, parts of different lengths. What only
/// moves data is foreseen there too.
TEST_P(TimeAfterLastOfMoves, FollowsItInTheBackgroundToo) {
  const Algorithm& row = *GetParam();
  for (const Rank ranks : {2, 5, 8, 16}) {
    in_every_cell(
        row.collective, ranks, [&](Problem problem, const Network& network, const auto& arrivals) {
          if (rooted(row.collective)) problem.root = ranks - 1;
          make_uneven(problem);
          const Plan plan = make_plan(row, problem, {{"progress", 1}}, {arrivals, network});
          const Seconds real = simulated(plan, network, arrivals);
          const Seconds error = std::abs(mean_after_last(plan, network, arrivals) - real);
          EXPECT_LE(error, 0.05 * scale(real, problem, network)) << to_text(plan);
        });
  }
}

std::vector<const Algorithm*> rows_with_time_after_last() {
  std::vector<const Algorithm*> rows;
  for (const Algorithm& row : registry()) {
    if (row.time_after_last != nullptr) rows.push_back(&row);
  }
  return rows;
}

std::vector<const Algorithm*> rows_that_move() {
  std::vector<const Algorithm*> rows = rows_with_time_after_last();
  std::erase_if(rows, [](const Algorithm* row) {
    return combines(row->collective) || row->kind != Kind::program;
  });
  return rows;
}

std::string name_of(const ::testing::TestParamInfo<const Algorithm*>& test) {
  return std::string(to_string(test.param->collective)) + "_" + std::string(test.param->name);
}

INSTANTIATE_TEST_SUITE_P(Registry, TimeAfterLast, ::testing::ValuesIn(rows_with_time_after_last()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Registry, TimeAfterLastOfMoves, ::testing::ValuesIn(rows_that_move()),
                         name_of);

/// Keeping rank order, the root may be a leaf that gets the result in one message more.
TEST(TimeAfterLast, OfABinomialReductionFollowsItForAnyRootAndOrder) {
  const Algorithm& row = find_algorithm(Collective::reduce, "binomial");
  for (const Rank ranks : {2, 5, 8, 13}) {
    for (const Rank root : {Rank{1}, Rank(ranks / 2), Rank(ranks - 1)}) {
      in_every_cell(row.collective, ranks,
                    [&](Problem problem, const Network& network, const auto& arrivals) {
                      problem.root = root;
                      problem.commutative = false;
                      const Plan plan = planned(row.name, problem, network, arrivals);
                      const Seconds real = simulated(plan, network, arrivals);
                      EXPECT_NEAR(mean_after_last(plan, network, arrivals), real,
                                  0.01 * scale(real, problem, network) + 1e-12);
                    });
    }
  }
}

TEST(TimeAfterLast, EveryArrivalAwareRowHasOne) {
  for (const Algorithm& row : registry()) {
    if (!row.arrival_aware || row.name == "auto") continue;
    EXPECT_NE(row.time_after_last, nullptr) << row.name;
  }
}

TEST(TimeAfterLast, WithoutArrivalsIsThatOfBalance) {
  const Problem problem{Collective::allreduce, 8, 1000, 4};
  for (const char* name : {"sorted_linear_tree", "ring"}) {
    const Plan plan = planned(name, problem, kSlow, {});
    EXPECT_EQ(mean_after_last(plan, kSlow, {}), balanced_time(plan, kSlow));
  }
}

class AutoOf : public ::testing::TestWithParam<Collective> {};

/// The mean exit of whichever candidate is the first to let its ranks leave.
Seconds least_of_candidates(const Problem& problem, const Network& network,
                            const std::vector<Seconds>& arrivals) {
  Seconds least = std::numeric_limits<Seconds>::infinity();
  for (const Algorithm& row : registry(problem.collective)) {
    if (row.name != "fastest" && (!row.arrival_aware || row.name == "auto")) continue;
    const Plan plan = planned(row.name, problem, network, arrivals);
    least = std::min(least, simulated(plan, network, arrivals));
  }
  return least;
}

/// Most balanced programs are priced as if all arrived together.
TEST_P(AutoOf, TakesTheBestOfItsCandidates) {
  double sum = 0;
  int cells = 0;
  for (const Rank ranks : {2, 3, 5, 8, 16, 33}) {
    in_every_cell(GetParam(), ranks,
                  [&](const Problem& problem, const Network& network, const auto& arrivals) {
                    const Plan plan = planned("auto", problem, network, arrivals);
                    const Seconds best = least_of_candidates(problem, network, arrivals);
                    const double loss =
                        (simulated(plan, network, arrivals) - best) / scale(best, problem, network);
                    EXPECT_LE(loss, 0.25);
                    sum += loss;
                    ++cells;
                  });
  }
  EXPECT_LE(sum / cells, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Collectives, AutoOf, ::testing::ValuesIn(all_collectives()),
                         [](const auto& test) { return std::string(to_string(test.param)); });

}  // namespace
}  // namespace latecomer
