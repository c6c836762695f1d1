// Every rank hears of every other in each call, whatever the algorithm, and the stamps add little
// to the messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>

#include "algorithms/plans.hpp"
#include "base/reproducible.hpp"
#include "reference/reference.hpp"
#include "reference/sweeps.hpp"
#include "telemetry/watch.hpp"

namespace latecomer {
namespace {

struct Heard {
  bool all = true;
  Simulation result;
};

std::vector<Seconds> some_arrivals(Rank ranks, std::uint64_t seed) {
  Random random(seed);
  std::vector<Seconds> arrivals;
  for (Rank rank = 0; rank < ranks; ++rank) arrivals.push_back(1e-3 * random.uniform());
  return arrivals;
}

/// One call of the plan, with telemetry.
Heard call(const Plan& plan, const Network& network, const std::vector<Seconds>& arrivals) {
  std::deque<ArrivalStamps> stamps;
  SimulationOptions options;
  options.network = network;
  options.arrivals = arrivals;
  options.element_bytes = plan.problem.element_bytes;
  for (Rank rank = 0; rank < plan.problem.ranks; ++rank) {
    ArrivalStamps& own = stamps.emplace_back(plan.problem.ranks);
    own.begin();
    own.arrive(rank, {arrivals[rank], static_cast<float>(rank)});
    options.piggybacks.push_back(&own);
  }
  Heard heard{true, simulate(build_programs(plan), options)};
  for (const ArrivalStamps& own : stamps) {
    if (!own.complete()) heard.all = false;
    for (Rank rank = 0; rank < plan.problem.ranks; ++rank) {
      const ArrivalStamp right{arrivals[rank], static_cast<float>(rank)};
      if (own.complete() && own.all()[rank] != right) heard.all = false;
    }
  }
  return heard;
}

/// If the n-th message of a pair piggybacks on one side, it does so on the other.
void expect_same_telling(const std::vector<Program>& programs) {
  std::map<std::pair<Rank, Rank>, std::vector<bool>> sent, received;
  for (const Program& program : programs) {
    for (OpIndex i = 0; i < program.operations.size(); ++i) {
      const Operation& op = program.operations[i];
      const bool piggybacks =
          std::binary_search(program.piggybacking.begin(), program.piggybacking.end(), i);
      if (op.kind == OpKind::send) sent[{program.me, op.peer}].push_back(piggybacks);
      if (op.kind == OpKind::recv) received[{op.peer, program.me}].push_back(piggybacks);
    }
  }
  EXPECT_EQ(sent, received);
}

class Telemetry : public ::testing::TestWithParam<std::string> {};

std::vector<std::string> programs() {
  std::vector<std::string> names;
  for (const Algorithm& row : registry()) {
    if (row.kind != Kind::program) continue;
    names.push_back(std::string(to_string(row.collective)) + ' ' + std::string(row.name));
  }
  for (const char* more :
       {"generalized:steps=100", "generalized:rounding=any:steps=1", "two_tree:segments=1",
        "two_tree:segments=3", "dual_root:segments=7", "linear_tree:override=back:segments=5",
        "sorted_linear_tree:segments=9", "sorted_linear_tree:progress=background",
        "prereduced_ring:progress=background", "generalized:progress=background",
        "circulant:progress=background", "two_tree:progress=background",
        "rabenseifner:progress=background", "dual_root:progress=background",
        "straggler_exchange:progress=background"}) {
    names.push_back(std::string("allreduce ") + more);
  }
  for (const char* more :
       {"bruck:progress=background", "disseminated_ring:progress=background",
        "gather_bcast:progress=background", "late_doubling:late=2",
        "recursive_doubling:progress=background", "sorted_gather_bcast:progress=background",
        "sorted_gather_bcast:bcast=scatter_ring"}) {
    names.push_back(std::string("allgather ") + more);
  }
  return names;
}

TEST_P(Telemetry, IsCompleteAtEveryExit) {
  const auto space = GetParam().find(' ');
  const Collective collective = parse_collective(GetParam().substr(0, space));
  const Choice choice = parse_choice(collective, GetParam().substr(space + 1));
  for (Rank ranks = 2; ranks <= testing::kMaxRanks; ++ranks) {
    for (const Count count : {1, ranks - 1, static_cast<int>(ranks), ranks + 1, 1000}) {
      for (const Count eager : {0, 1 << 20}) {
        Network network;
        network.eager_limit = eager;
        const std::vector<Seconds> arrivals = some_arrivals(ranks, 100 * ranks + count);
        Problem problem{.ranks = ranks, .count = count, .element_bytes = 4, .exact = true};
        problem.collective = collective;
        if (rooted(collective)) problem.root = ranks / 2;
        const Plan plan =
            make_plan(*choice.algorithm, problem, choice.parameters, {arrivals, network, true});
        expect_same_telling(build_programs(plan));
        const Heard heard = call(plan, network, arrivals);
        ASSERT_EQ(heard.result.failure, "");
        EXPECT_TRUE(heard.all) << "P=" << ranks << ", " << count << " elements, eager " << eager;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Telemetry, ::testing::ValuesIn(programs()),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

TEST(TelemetryCost, IsBelowOnePercentFrom64KiBOnAt48Ranks) {
  const Rank ranks = 48;
  for (const Network& network : {Network{}, Network{.alpha = 3e-6, .beta = 0.286e-9}}) {
    for (const Count bytes : {64 << 10, 1 << 20, 16 << 20}) {
      const Problem problem{.ranks = ranks, .count = bytes / 4, .element_bytes = 4};
      const std::vector<Seconds> arrivals(ranks, 0);
      const Plan plan = make_plan(find_algorithm(Collective::allreduce, "fastest"), problem, {},
                                  {{}, network, true});
      SimulationOptions without;
      without.network = network;
      const Seconds silent = simulate(build_programs(plan), without).last_exit();
      const Seconds told = call(plan, network, arrivals).result.last_exit();
      EXPECT_GT(told, silent);
      EXPECT_LT(told, 1.01 * silent) << plan.algorithm << ", " << bytes << " bytes";
    }
  }
}

/// A series of calls in which every rank plans by its own watch, delays at random.
class Series {
 public:
  Series(Rank ranks, std::string_view algorithm, std::uint64_t seed)
      : ranks_(ranks), row_(find_algorithm(Collective::allreduce, algorithm)), random_(seed) {
    for (Rank rank = 0; rank < ranks; ++rank) watches_.emplace_back(rank, ranks);
  }

  /// One call; false if two ranks plan it differently.
  bool call(const Problem& problem) {
    std::vector<Program> programs;
    SimulationOptions options;
    options.network.jitter = 0.5;
    options.network.seed = random_.next();
    options.element_bytes = problem.element_bytes;
    std::vector<Plan> plans;
    for (Rank rank = 0; rank < ranks_; ++rank) {
      options.arrivals.push_back(clock_ + delay(rank));
      Watch& watch = watches_[rank];
      plans.push_back(make_plan(row_, problem, {}, {watch.expect(problem), {}, true}));
      options.piggybacks.push_back(&watch.enter(options.arrivals[rank]));
      programs.push_back(build_program(plans.back(), rank));
    }
    for (const Plan& plan : plans) {
      if (plan != plans.front()) return false;
    }
    const Simulation result = simulate(programs, options);
    EXPECT_EQ(result.failure, "");
    for (Rank rank = 0; rank < ranks_; ++rank) watches_[rank].leave(result.exits[rank]);
    clock_ = result.last_exit();
    return true;
  }

 private:
  /// Seconds: mostly little, sometimes much.
  Seconds delay(Rank rank) {
    return (rank == ranks_ / 2 ? 2e-3 : 1e-4) * random_.uniform() *
           (random_.next() % 8 == 0 ? 10 : 1);
  }

  Rank ranks_;
  const Algorithm& row_;
  Random random_;
  std::deque<Watch> watches_;
  Seconds clock_ = 0;
};

TEST(Agreement, RanksThatWatchAlwaysMakeTheSamePlan) {
  for (const char* algorithm : {"sorted_linear_tree", "prereduced_ring", "fastest"}) {
    for (std::uint64_t seed = 1; seed <= testing::random_runs(60); ++seed) {
      Random shape(seed);
      const auto ranks = static_cast<Rank>(2 + shape.next() % 15);
      Series series(ranks, algorithm, seed);
      for (int i = 0; i < 12; ++i) {
        const auto count = static_cast<Count>(1 + shape.next() % (i % 3 == 0 ? 8 : 4000));
        ASSERT_TRUE(series.call({.ranks = ranks, .count = count, .element_bytes = 4}))
            << algorithm << ", seed " << seed << ", call " << i;
      }
    }
  }
}

}  // namespace
}  // namespace latecomer
