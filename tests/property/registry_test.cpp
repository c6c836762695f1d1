// Every registered program x every P from 1 to 17 x counts x roots x parts x arrivals x in place or
// not x operator x estimate right or wrong x network, against the reference. A failure prints its
// seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "algorithms/plans.hpp"
#include "base/reproducible.hpp"
#include "reference/reference.hpp"
#include "reference/sweeps.hpp"
#include "verify/verify.hpp"

namespace latecomer {
namespace {

using testing::arrival_pattern;
using testing::kArrivalPatterns;
using testing::run_and_compare;

std::uint64_t base_seed() {
  const char* text = std::getenv("LATECOMER_TEST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

/// The registry's defaults, and for each parameter a few other values; these not for numbers of
/// ranks beyond eight that are much like the next.
std::vector<Parameters> parameter_sets(const Algorithm& algorithm, Rank ranks) {
  std::vector<Parameters> sets = {{}};
  if (std::set<Rank>{10, 11, 14, 15}.contains(ranks)) return sets;
  for (const Parameter& parameter : algorithm.parameters) {
    if (parameter.name == kRandom) continue;  // it has no plans
    const auto choices = static_cast<Count>(parameter.choices.size());
    for (const Count value : {Count{0}, Count{1}, Count{3}, Count{ranks} * 2 + 1}) {
      if (value < parameter.minimum || (choices > 0 && value >= choices)) continue;
      sets.push_back({{std::string(parameter.name), value}});
    }
  }
  return sets;
}

std::vector<Network> networks() {
  Network eager;
  eager.buffer = 5000;  // some sends are over at once
  Network rendezvous;
  rendezvous.eager_limit = 0;
  rendezvous.handshake = 20e-6;
  rendezvous.jitter = 0.5;
  return {eager, rendezvous};
}

struct Case {
  const Algorithm* algorithm;
  Rank ranks;
};

class RegistryProperty : public ::testing::TestWithParam<Case> {};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Algorithm& row : registry()) {
    if (row.kind == Kind::native) continue;
    for (Rank ranks = 1; ranks <= testing::kMaxRanks; ++ranks) all.push_back({&row, ranks});
  }
  return all;
}

/// Others make the same plan for exact operators.
bool heeds_exactness(const Algorithm& algorithm) {
  return algorithm.name == "generalized" || algorithm.name == "fastest";
}

std::set<Rank> roots(Collective collective, Rank ranks) {
  return rooted(collective) ? std::set<Rank>{0, ranks / 2, ranks - 1} : std::set<Rank>{0};
}

/// Lengths that differ, some of them 0; the whole vector becomes their sum.
void make_uneven(Problem& problem) {
  problem.parts.resize(static_cast<std::size_t>(problem.ranks));
  for (std::size_t i = 0; i < problem.parts.size(); ++i) {
    problem.parts[i] = static_cast<Count>(i * 7 % 5);
  }
  problem.count = std::accumulate(problem.parts.begin(), problem.parts.end(), Count{0});
}

/// All kinds with root 0; with the others, where little is different, two.
std::set<Count> counts(Rank ranks, Rank root) {
  if (root != 0) return {1, Count{ranks} + 1};
  return {0, 1, Count{ranks} - 1, ranks, Count{ranks} + 1, 257};
}

/// Also with an exact operator, or with uneven parts, where that makes a difference.
void add_variants(const Algorithm& algorithm, const Problem& problem, std::vector<Problem>& all) {
  if (!accepts(algorithm, problem, nullptr)) return;
  all.push_back(problem);
  if (combines(problem.collective) && heeds_exactness(algorithm)) {
    all.push_back(problem);
    all.back().exact = true;
  }
  if (parted(problem.collective) && problem.count == problem.ranks + 1) {
    all.push_back(problem);
    make_uneven(all.back());
  }
}

std::vector<Problem> problems(const Algorithm& algorithm, Rank ranks) {
  const Collective collective = algorithm.collective;
  std::vector<Problem> all;
  for (const Rank root : roots(collective, ranks)) {
    for (const Count count : counts(ranks, root)) {
      for (const bool commutative : {true, false}) {
        if (!commutative && !combines(collective)) continue;
        for (const bool in_place : {false, true}) {
          add_variants(algorithm, {collective, ranks, count, 4, root, commutative, in_place}, all);
        }
      }
    }
  }
  return all;
}

/// The kinds of arrivals to try: with the defaults all of them, with other parameters every second
/// one. Beyond eight ranks, where each number of ranks is much like the next, half as many; under
/// sanitizers one.
std::vector<int> patterns(const Parameters& parameters, Rank ranks, std::uint64_t seed) {
  const int step =
      testing::kSanitized ? kArrivalPatterns : (parameters.empty() ? 1 : 2) * (ranks > 8 ? 2 : 1);
  std::vector<int> some;
  for (int i = static_cast<int>(seed % static_cast<std::uint64_t>(step)); i < kArrivalPatterns;
       i += step) {
    some.push_back(i);
  }
  return some;
}

TEST_P(RegistryProperty, EqualsTheReference) {
  const auto [algorithm, ranks] = GetParam();
  Random seeds(base_seed() + static_cast<std::uint64_t>(ranks));
  for (const Problem& problem : problems(*algorithm, ranks)) {
    for (const Parameters& parameters : parameter_sets(*algorithm, ranks)) {
      const std::uint64_t seed = seeds.next();
      for (const int pattern : patterns(parameters, ranks, seed)) {
        SimulationOptions options;
        options.network = networks()[seed % 2];
        options.engine.window = seed % 3 == 0 ? 1 : 64;
        options.arrivals = arrival_pattern(pattern, ranks, 1e-3, seed);
        // Estimates are right, absent or wrong: that may cost time only.
        std::vector<Seconds> believed = options.arrivals;
        if (seed % 5 == 0) believed.clear();
        if (seed % 5 == 1) std::reverse(believed.begin(), believed.end());
        const Plan plan = make_plan(*algorithm, problem, parameters, {believed, options.network});
        ASSERT_EQ(run_and_compare(plan, options, seed), "")
            << "seed " << seed << ", arrivals " << pattern << "\n"
            << to_text(plan);
      }
    }
  }
}

TEST_P(RegistryProperty, IsVerified) {
  const auto [algorithm, ranks] = GetParam();
  if (algorithm->kind != Kind::program) return;  // explored instead, in tests of its own
  Random seeds(base_seed() + static_cast<std::uint64_t>(ranks));
  for (const Problem& problem : problems(*algorithm, ranks)) {
    for (const Parameters& parameters : parameter_sets(*algorithm, ranks)) {
      std::vector<int> chosen = patterns(parameters, ranks, seeds.next());
      if (!algorithm->arrival_aware) chosen = {0};  // all patterns make one plan
      for (const int pattern : chosen) {
        const auto arrivals = arrival_pattern(pattern, ranks, 1e-3, base_seed());
        const Plan plan = make_plan(*algorithm, problem, parameters, {arrivals, {}});
        // Some parameters let go of one of the promises.
        const auto found = verify(plan.problem, build_programs(plan));
        ASSERT_FALSE(found) << found->rule << ": " << found->text << "\n" << to_text(plan);
      }
    }
  }
}

/// In place is local: it must not change the messages.
TEST_P(RegistryProperty, SendsTheSameInPlace) {
  const auto [algorithm, ranks] = GetParam();
  if (algorithm->kind != Kind::program) return;
  for (Problem problem : problems(*algorithm, ranks)) {
    const auto messages = [&](bool in_place) {
      problem.in_place = in_place;
      std::vector<std::tuple<OpKind, Rank, Count>> all;
      const Plan plan = make_plan(*algorithm, problem, {}, {});
      for (Rank me = 0; me < ranks; ++me) {
        for (const Operation& op : build_program(plan, me).operations) {
          if (op.kind == OpKind::send) all.emplace_back(op.kind, op.peer, op.source.count);
          if (op.kind == OpKind::recv) all.emplace_back(op.kind, op.peer, op.target.count);
        }
      }
      return std::pair(hash(plan), all);
    };
    ASSERT_EQ(messages(false), messages(true)) << algorithm->name << " P=" << ranks;
  }
}

TEST_P(RegistryProperty, KeepsItsScratchLimit) {
  const auto [algorithm, ranks] = GetParam();
  EXPECT_LE(algorithm->scratch_messages, 3);
  for (const Problem& problem : problems(*algorithm, ranks)) {
    const auto arrivals = arrival_pattern(2, ranks, 1e-3, base_seed());
    for (const Count progress : {0, 1}) {
      const bool program = algorithm->kind == Kind::program;
      const Parameters parameters = program ? Parameters{{"progress", progress}} : Parameters{};
      const Plan plan = make_plan(*algorithm, problem, parameters, {arrivals, {}});
      for (const auto& executor : make_executors(plan, {})) {
        // Blocks are whole elements: a short vector may take up to one more for each rank.
        ASSERT_LE(executor->context().scratch_count,
                  algorithm->scratch_messages * problem.count + ranks)
            << to_text(plan) << "rank " << executor->context().me;
      }
    }
  }
}

TEST_P(RegistryProperty, TextFormsReadBack) {
  const auto [algorithm, ranks] = GetParam();
  if (algorithm->kind != Kind::program) return;
  const Problem problem{algorithm->collective, ranks, 37, 8, 0, true, ranks % 2 == 0};
  const auto arrivals = arrival_pattern(2, ranks, 1e-3, base_seed());
  const Plan plan = make_plan(*algorithm, problem, {}, {arrivals, {}});
  const Schedule schedule{plan, build_programs(plan)};
  const Schedule read = parse_schedule(to_text(schedule));
  EXPECT_EQ(read.plan, plan);
  EXPECT_TRUE(read.programs == schedule.programs) << to_text(schedule);
}

/// Where all ranks arrive so much earlier they leave so much earlier, below 0 too.
TEST_P(RegistryProperty, ExitsAreOnTheClockOfTheArrivals) {
  constexpr Seconds kEarlier = 2;
  const auto [algorithm, ranks] = GetParam();
  const Problem problem{algorithm->collective, ranks, 37, 8};
  for (const Network& network : networks()) {
    for (const Rank per_node : {1, 3}) {
      SimulationOptions options;
      options.network = network;
      options.element_bytes = problem.element_bytes;
      options.arrivals = arrival_pattern(2, ranks, 1e-3, base_seed());
      const Plan plan = make_plan(
          *algorithm, problem, {},
          {options.arrivals, network, false, false, consecutive_placement(ranks, per_node)});
      const Executors executors = make_executors(plan, network);
      const Simulation now = simulate(executors, options);
      for (Seconds& arrival : options.arrivals) arrival -= kEarlier;
      const Simulation then = simulate(executors, options);
      ASSERT_EQ(then.failure, "") << to_text(plan);
      for (std::size_t rank = 0; rank < now.exits.size(); ++rank)
        ASSERT_NEAR(then.exits[rank] + kEarlier, now.exits[rank], 1e-11) << to_text(plan);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, RegistryProperty, ::testing::ValuesIn(cases()),
                         [](const ::testing::TestParamInfo<Case>& test) {
                           return std::string(to_string(test.param.algorithm->collective)) + "_" +
                                  std::string(test.param.algorithm->name) + "_P" +
                                  std::to_string(test.param.ranks);
                         });

}  // namespace
}  // namespace latecomer
