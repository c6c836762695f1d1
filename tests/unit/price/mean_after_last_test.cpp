// How soon after the last arrival ranks are predicted to leave, against the virtual network.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "algorithms/plans.hpp"
#include "base/reproducible.hpp"
#include "price/price.hpp"
#include "reference/reference.hpp"
#include "reference/rows.hpp"
#include "unit/algorithms/networks.hpp"

namespace latecomer {
namespace {

const Network kWaiting{.alpha = 50e-6, .beta = 8e-9, .gamma = 0.1e-9, .eager_limit = 0};

Seconds simulated(const Plan& plan, const Network& network, const std::vector<Seconds>& arrivals) {
  SimulationOptions options;
  options.network = network;
  options.arrivals = arrivals;
  options.element_bytes = plan.problem.element_bytes;
  const Simulation result = simulate(make_executors(plan, network), options);
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

class MeanAfterLast : public ::testing::TestWithParam<const Algorithm*> {};

bool closed_form(const Algorithm& row) { return row.mean_after_last != nullptr; }

/// How far off a closed form may be. Those of some rows count rounds: a rank that arrives within
/// one waits for the next. Others are the replay itself, but for ties (service_test.cpp).
double allowed_mean(const Plan& plan) {
  if (!closed_form(find_algorithm(plan.problem.collective, plan.algorithm))) return 1e-3;
  const bool rounds = plan.algorithm == "early_owners" || plan.algorithm == "prereduced_circulant";
  return rounds ? 0.3 : 0.001;
}

/// Numbers of ranks: few where prices are the replay itself.
std::vector<Rank> sizes(const Algorithm& row) {
  if (!closed_form(row)) return {1, 2, 5, 8};
  return {1, 2, 3, 4, 5, 8, 13, 16, 33};
}

TEST_P(MeanAfterLast, IsThatOfTheVirtualNetwork) {
  const Algorithm& row = *GetParam();
  double sum = 0;
  int cells = 0;
  for (const Rank ranks : sizes(row)) {
    in_every_cell(row.collective, ranks,
                  [&](const Problem& problem, const Network& network, const auto& arrivals) {
                    const Plan plan = planned(row.name, problem, network, arrivals);
                    const Seconds real = simulated(plan, network, arrivals);
                    const Seconds error = std::abs(mean_after_last(plan, network, arrivals) - real);
                    EXPECT_LE(error, allowed_mean(plan) * scale(real, problem, network) + 1e-12);
                    sum += error / scale(real, problem, network);
                    ++cells;
                  });
  }
  EXPECT_LE(sum / cells, 0.05);
}

/// Where ranks receive before they arrive, from another root, parts of different lengths.
TEST_P(MeanAfterLast, IsSoInTheBackgroundToo) {
  const Algorithm& row = *GetParam();
  if (combines(row.collective)) return;  // these closed forms know the foreground alone
  for (const Rank ranks : sizes(row)) {
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

std::vector<const Algorithm*> arrival_aware_rows() {
  std::vector<const Algorithm*> rows;
  for (const Algorithm& row : registry()) {
    if (row.arrival_aware && row.name != "auto") rows.push_back(&row);
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Registry, MeanAfterLast, ::testing::ValuesIn(arrival_aware_rows()),
                         testing::name_of_row);

TEST(MeanAfterLast, OfBalancedRowsIsExact) {
  const Problem problem{Collective::reduce, 8, 1000, 4};
  const std::vector<Seconds> arrivals = some_arrivals(8, 1e-3, 1);
  const Plan plan = planned("binomial", problem, kSlow, arrivals);
  EXPECT_NEAR(mean_after_last(plan, kSlow, arrivals), simulated(plan, kSlow, arrivals), 1e-12);
  EXPECT_GT(std::abs(mean_after_last(plan, kSlow, arrivals) - balanced_time(plan, kSlow)), 1e-6);
}

TEST(MeanAfterLast, WithoutArrivalsIsThatOfBalance) {
  const Problem problem{Collective::allreduce, 8, 1000, 4};
  for (const char* name : {"sorted_linear_tree", "ring"}) {
    const Plan plan = planned(name, problem, kSlow, {});
    EXPECT_EQ(mean_after_last(plan, kSlow, {}), balanced_time(plan, kSlow));
  }
}

/// Ranks that are expected after more than the virtual network can count, or before.
TEST(MeanAfterLast, OfAbsurdArrivalsIsFinite) {
  const Problem problem{Collective::gather, 4, 1000, 4};
  for (const Seconds absurd : {1e18, -1e18}) {
    const std::vector<Seconds> arrivals = {0, absurd, 1, 2};
    const Plan plan = planned("sorted_binomial", problem, kSlow, arrivals);
    EXPECT_TRUE(std::isfinite(mean_after_last(plan, kSlow, arrivals)));
  }
  const std::vector<Seconds> arrivals = {0, 1, 2, 3};
  const Network absurd{.alpha = 1e12};
  const Plan plan = planned("sorted_binomial", problem, absurd, arrivals);
  EXPECT_EQ(mean_after_last(plan, absurd, arrivals), balanced_time(plan, absurd));
}

TEST(MayPay, NotWhereReplaysWouldTakeTooLong) {
  const Algorithm& row = find_algorithm(Collective::allgather, "disseminated_ring");
  EXPECT_TRUE(may_pay(row, {Collective::allgather, kMaxReplayedRanks, 4096}, {}));
  EXPECT_FALSE(may_pay(row, {Collective::allgather, kMaxReplayedRanks + 1, 4096}, {}));
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

/// The loss is that of the closed forms.
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
