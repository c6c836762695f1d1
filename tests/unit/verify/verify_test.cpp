#include "verify/verify.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "schedule/builder.hpp"

namespace latecomer {
namespace {

/// Every rank sends its vector to all others and combines from the right: (0 (1 (2 ...))).
Program exchange(const Plan& plan, Rank me) {
  Builder builder(plan, me);
  const Range all{0, plan.problem.count};
  std::vector<Slice> blocks;
  for (Rank rank = 0; rank < plan.problem.ranks; ++rank) {
    const bool own = rank == me;
    if (!own) builder.send(rank, builder.input(all));
    blocks.push_back(own ? builder.input(all) : builder.scratch(all.count));
    if (!own) builder.recv(rank, blocks.back());
  }
  Slice result = blocks.back();
  if (me == plan.problem.ranks - 1) {
    result = builder.scratch(all.count);
    builder.copy(blocks.back(), result);
  }
  for (Rank rank = plan.problem.ranks - 2; rank >= 0; --rank) {
    builder.combine(blocks[static_cast<std::size_t>(rank)], result, Into::right);
  }
  builder.copy(result, builder.output(all));
  return builder.finish();
}

Plan plan_of(Rank ranks, Count count, bool in_place = false, bool commutative = true) {
  Plan plan;
  plan.algorithm = "exchange";
  plan.problem = {Collective::allreduce, ranks, count};
  plan.problem.in_place = in_place;
  plan.problem.commutative = commutative;
  return plan;
}

std::vector<Program> exchange(const Plan& plan) {
  std::vector<Program> programs;
  for (Rank me = 0; me < plan.problem.ranks; ++me) programs.push_back(exchange(plan, me));
  return programs;
}

std::string verdict(const Plan& plan, const std::vector<Program>& programs) {
  const auto found = verify(plan.problem, programs);
  return found ? std::string(found->rule) + ": " + found->text : "correct";
}

std::string rule(const Plan& plan, const std::vector<Program>& programs) {
  const auto found = verify(plan.problem, programs);
  return found ? std::string(found->rule) : "correct";
}

TEST(Verify, CorrectSchedulesPass) {
  for (const Rank ranks : {1, 2, 3, 5, 17, 65}) {
    for (const Count count : {Count{0}, Count{1}, Count{7}}) {
      for (const bool in_place : {false, true}) {
        for (const bool commutative : {false, true}) {
          const Plan plan = plan_of(ranks, count, in_place, commutative);
          EXPECT_EQ(verdict(plan, exchange(plan)), "correct") << to_text(plan);
        }
      }
    }
  }
}

/// Three ranks exchange two elements and combine (1 2) of the one, (2 1) of the other.
Program ragged_exchange(const Plan& plan, Rank me) {
  Builder builder(plan, me);
  Slice blocks[3];
  for (Rank rank = 0; rank < 3; ++rank) {
    blocks[rank] = builder.scratch(2);
    if (rank == me) builder.copy(builder.input({0, 2}), blocks[rank]);
    if (rank != me) builder.send(rank, builder.input({0, 2}));
    if (rank != me) builder.recv(rank, blocks[rank]);
  }
  builder.combine(blocks[1].part(0, 1), blocks[2].part(0, 1), Into::right);
  builder.combine(blocks[2].part(1, 1), blocks[1].part(1, 1), Into::left);
  builder.combine(blocks[0], blocks[2], Into::right);
  builder.copy(blocks[2], builder.output({0, 2}));
  return builder.finish();
}

TEST(Verify, OperandsInUnequalPiecesPass) {
  const Plan plan = plan_of(3, 2);
  std::vector<Program> programs;
  for (Rank me = 0; me < 3; ++me) programs.push_back(ragged_exchange(plan, me));
  EXPECT_EQ(verdict(plan, programs), "correct");
}

TEST(Verify, TheCostDoesNotDependOnTheCount) {
  const Plan plan = plan_of(4, Count{1} << 58);
  EXPECT_EQ(verdict(plan, exchange(plan)), "correct");
}

// Written by hand, in place: rank 0 reduces, having received before its arrival; rank 1 gets the
// result back.
TEST(Verify, HandWrittenTreePasses) {
  const Plan plan = plan_of(2, 3, true, false);
  const std::string header = "\nin-place yes\ncommutative no\nprogress background\n";
  const std::string text = to_text(plan) +
                           "latecomer-program 1\nplan 1\nrank 0 of 2\n"
                           "buffers input 0 output 3 scratch 3" +
                           header +
                           "0 recv scratch[0:3] from 1\n1 arrive\n"
                           "2 combine output[0:3] scratch[0:3] into right after 0 1\n"
                           "3 send scratch[0:3] to 1 after 2\n"
                           "4 copy scratch[0:3] to output[0:3] after 2\nend\n"
                           "latecomer-program 1\nplan 1\nrank 1 of 2\n"
                           "buffers input 0 output 3 scratch 0" +
                           header +
                           "0 arrive\n1 send output[0:3] to 0 after 0\n"
                           "2 recv output[0:3] from 0 after 1\nend\n";
  const Schedule schedule = parse_schedule(text);
  EXPECT_EQ(verdict(plan, schedule.programs), "correct");
}

/// Programs that fit each other but not the plan that they stand under.
TEST(Verify, ProgramsFollowTheirPlan) {
  const Plan plan = plan_of(2, 3);
  const Schedule right{plan, exchange(plan)};
  EXPECT_FALSE(verify(right));
  const auto broken = [&](auto&& change) {
    Schedule schedule = right;
    for (Program& program : schedule.programs) change(program);
    const auto found = verify(schedule);
    return found ? std::string(found->rule) + ": " + found->text : "correct";
  };
  EXPECT_TRUE(broken([](Program& p) {
                p.plan_hash ^= 1;
              }).starts_with("plan: program of rank 0: the plan hash is "));
  EXPECT_EQ(broken([](Program& p) { p.node = 0; }),
            "plan: program of rank 1: its node is 0, should be 1");
  EXPECT_EQ(broken([](Program& p) { p.progress = Progress::background; }),
            "plan: program of rank 0: background progress is yes, should be no");
}

struct Break {
  const char* rule;
  const char* what;
  std::function<void(std::vector<Program>&)> apply;
};

void expect_breaks(const Plan& plan, const std::vector<Break>& breaks) {
  for (const Break& broken : breaks) {
    auto programs = exchange(plan);
    broken.apply(programs);
    EXPECT_EQ(rule(plan, programs), broken.rule) << broken.what;
  }
}

// The programs of exchange() for three ranks, rank 1:
//   0 arrive                        5 combine input scratch[1] into right
//   1 send input to 0               6 combine scratch[0] scratch[1] into right
//   2 recv scratch[0] from 0        7 copy scratch[1] to output
//   3 send input to 2
//   4 recv scratch[1] from 2
TEST(Verify, PlanNamesWhatDoesNotFit) {
  using Programs = std::vector<Program>;
  expect_breaks(plan_of(3, 2),
                {{"plan", "one program too few", [](Programs& p) { p.pop_back(); }},
                 {"plan", "no program", [](Programs& p) { p.clear(); }},
                 {"plan", "hash", [](Programs& p) { ++p[1].plan_hash; }},
                 {"plan", "rank", [](Programs& p) { p[1].me = 2; }},
                 {"plan", "ranks", [](Programs& p) { p[1].ranks = 4; }},
                 {"plan", "input", [](Programs& p) { ++p[1].input_count; }},
                 {"plan", "output", [](Programs& p) { --p[1].output_count; }},
                 {"plan", "scratch", [](Programs& p) { p[1].scratch_count = -1; }},
                 {"plan", "in place", [](Programs& p) { p[1].in_place = true; }},
                 {"plan", "operator", [](Programs& p) { p[1].commutative = false; }},
                 {"plan", "progress", [](Programs& p) { p[1].progress = Progress::background; }}});
}

constexpr Count kMax = std::numeric_limits<Count>::max();
constexpr Count kMin = std::numeric_limits<Count>::min();

TEST(Verify, BoundsHoldForHostilePrograms) {
  using Programs = std::vector<Program>;
  const auto slice = [](Count begin, Count count) {
    return [=](Programs& p) { p[1].operations[2].target = {Buffer::scratch, begin, count}; };
  };
  const auto peer = [](Rank rank) { return [=](Programs& p) { p[1].operations[2].peer = rank; }; };
  expect_breaks(
      plan_of(3, 2),
      {{"bounds", "behind the end", slice(4, 1)},
       {"bounds", "over the end", slice(3, 2)},
       {"bounds", "before the begin", slice(-1, 2)},
       {"bounds", "empty", slice(1, 0)},
       {"matching", "holds nothing, as notices do", slice(0, 0)},
       {"bounds", "negative", slice(1, -1)},
       {"bounds", "tells, but is no message", [](Programs& p) { p[1].piggybacking = {0}; }},
       {"bounds", "tells, but is not there", [](Programs& p) { p[1].piggybacking = {99}; }},
       {"bounds", "tells twice", [](Programs& p) { p[1].piggybacking = {2, 2}; }},
       {"matching", "tells who does not know", [](Programs& p) { p[1].piggybacking = {2}; }},
       {"bounds", "sum overflows", slice(kMax, kMax)},
       {"bounds", "sum overflows by one", slice(1, kMax)},
       {"bounds", "least", slice(kMin, kMin)},
       {"bounds", "difference overflows", slice(kMin, kMax)},
       {"bounds", "itself", peer(1)},
       {"bounds", "no rank", peer(-1)},
       {"bounds", "one rank too many", peer(3)},
       {"bounds", "least rank", peer(std::numeric_limits<Rank>::min())},
       {"bounds", "never arrives", [](Programs& p) { p[1].operations[0] = p[1].operations[1]; }},
       {"bounds", "arrives twice", [](Programs& p) { p[1].operations[1] = {}; }},
       {"bounds", "operands differ", [](Programs& p) { p[1].operations[5].source.count = 1; }},
       {"bounds", "operands overlap",
        [](Programs& p) { p[1].operations[6].source = {Buffer::scratch, 1, 2}; }},
       {"bounds", "copy overlaps itself",
        [](Programs& p) { p[1].operations[7].target = {Buffer::scratch, 1, 2}; }},
       {"bounds", "unknown kind",
        [](Programs& p) { p[1].operations[1].kind = static_cast<OpKind>(99); }}});
}

TEST(Verify, DependenciesAreEarlierOperations) {
  using Programs = std::vector<Program>;
  expect_breaks(
      plan_of(3, 2),
      {{"dependencies", "itself", [](Programs& p) { p[1].after[3].push_back(3); }},
       {"dependencies", "later", [](Programs& p) { p[1].after[3].push_back(4); }},
       {"dependencies", "no operation", [](Programs& p) { p[1].after[3].push_back(~OpIndex{0}); }},
       {"dependencies", "too few lists", [](Programs& p) { p[1].after.pop_back(); }},
       {"dependencies", "too many lists", [](Programs& p) { p[1].after.emplace_back(); }},
       {"dependencies", "the arrival waits", [](Programs& p) {
          std::swap(p[1].operations[0], p[1].operations[2]);
          p[1].after[2] = {0};
        }}});
}

TEST(Verify, MatchingComparesSizes) {
  const Plan plan = plan_of(3, 2);
  auto programs = exchange(plan);
  programs[1].operations[1].source.count = 1;
  EXPECT_EQ(verdict(plan, programs),
            "matching: rank 0, operation 2 (recv scratch[0:2] from 1) moves 2 elements but belongs "
            "to rank 1, operation 1 (send input[0:1] to 0), with 1 element");
}

TEST(Verify, PartsThatWereNeverWrittenAreNamed) {
  const Plan plan = plan_of(3, 2);
  auto programs = exchange(plan);
  programs[1].scratch_count += 1;
  programs[1].operations[7].source.begin += 1;
  // scratch[4:5] is new; the operations that wait for scratch[3:4] still do.
  EXPECT_EQ(verdict(plan, programs),
            "undefined: rank 1, operation 7 (copy scratch[3:5] to output[0:2]) reads scratch[4:5], "
            "which was never written");
}

TEST(Verify, AResultAtTheWrongPlaceBreaksTheIndex) {
  const Plan plan = plan_of(1, 2);
  auto programs = exchange(plan);
  Builder builder(plan, 0);
  builder.copy(builder.input({0, 1}), builder.output({1, 1}));
  builder.copy(builder.input({1, 1}), builder.output({0, 1}));
  programs[0] = builder.finish();
  EXPECT_EQ(verdict(plan, programs),
            "index: rank 0 ends with output[0:1] holding element 1 of rank 0, should hold element "
            "0 of all 1 rank");
}

TEST(Verify, AnOutputNobodyWritesIsNotDelivered) {
  const Plan plan = plan_of(1, 2);
  Builder builder(plan, 0);
  builder.copy(builder.input({0, 1}), builder.output({0, 1}));
  EXPECT_EQ(verdict(plan, {builder.finish()}),
            "delivery: rank 0 ends with output[1:2] holding nothing, should hold element 1 of all "
            "1 rank");
}

/// Two ranks exchange; rank 1 combines as told.
std::vector<Program> pair(const Plan& plan, bool own_on_the_left, Into into) {
  std::vector<Program> programs;
  for (Rank me = 0; me < 2; ++me) {
    Builder builder(plan, me);
    const Slice own = builder.output({0, 1});
    const Slice received = builder.scratch(1);
    builder.send(1 - me, own);
    builder.recv(1 - me, received);
    const bool left = me == 0 || own_on_the_left;
    const Into where = me == 0 ? Into::right : into;
    builder.combine(left ? own : received, left ? received : own, where);
    builder.copy((where == Into::right) == left ? received : own, own);
    programs.push_back(builder.finish());
  }
  return programs;
}

TEST(Verify, OrderMattersToANonCommutativeOperatorOnly) {
  const Plan strict = plan_of(2, 1, true, false);
  Plan lax = plan_of(2, 1, true, true);
  lax.problem.exact = true;
  EXPECT_EQ(rule(strict, pair(strict, false, Into::right)), "correct");
  EXPECT_EQ(rule(strict, pair(strict, true, Into::right)), "order");
  EXPECT_EQ(rule(strict, pair(strict, false, Into::left)), "order");
  for (const bool left : {false, true}) {
    for (const Into into : {Into::left, Into::right}) {
      EXPECT_EQ(verdict(lax, pair(lax, left, into)), "correct");
    }
  }
}

/// The operand that is written stands right, whichever was named first.
TEST(Verify, OperandsAreComparedAsTheyAreEvaluated) {
  const Plan plan = plan_of(2, 1, true, true);
  EXPECT_EQ(verdict(plan, pair(plan, false, Into::right)), "correct");
  EXPECT_EQ(verdict(plan, pair(plan, true, Into::left)), "correct");
  EXPECT_EQ(rule(plan, pair(plan, true, Into::right)), "same-tree");
  EXPECT_EQ(rule(plan, pair(plan, false, Into::left)), "same-tree");
}

TEST(Verify, OrderRefusesGaps) {
  const Plan plan = plan_of(3, 1, false, false);
  auto programs = exchange(plan);
  // Rank 1 leaves its own contribution out at first: (0 2).
  std::swap(programs[1].operations[5], programs[1].operations[6]);
  programs[1].after[5].push_back(2);
  EXPECT_EQ(verdict(plan, programs),
            "order: rank 1, operation 5 (combine scratch[0:1] scratch[1:2] into right): the left "
            "operand holds element 0 of rank 0, the right one element 0 of rank 2; the left ranks "
            "must lie directly below the right ones");
}

}  // namespace
}  // namespace latecomer
