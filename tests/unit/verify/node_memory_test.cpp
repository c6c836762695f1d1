// Programs whose ranks share a node's buffer and flags, written through the builder, and mistakes
// in them; the race rule against the obvious check of all pairs.
#include <gtest/gtest.h>

#include <functional>

#include "base/reproducible.hpp"
#include "negative/equivalence.hpp"
#include "negative/mutants.hpp"
#include "schedule/builder.hpp"
#include "verify/happens_before.hpp"
#include "verify/operations.hpp"
#include "verify/verify.hpp"

namespace latecomer::nodes_under_test {
namespace {

using Programs = std::vector<Program>;

Plan plan_of(Placement placement, bool commutative = true, bool exact = false) {
  Plan plan;
  plan.algorithm = "handwritten";
  plan.problem = {Collective::allreduce, static_cast<Rank>(placement.size()), 2};
  plan.problem.commutative = commutative;
  plan.problem.exact = exact;
  plan.placement = std::move(placement);
  return plan;
}

template <typename Write>
Programs programs_of(const Plan& plan, Write write) {
  Programs programs;
  for (Rank me = 0; me < plan.problem.ranks; ++me) {
    Builder builder(plan, me);
    write(builder);
    programs.push_back(builder.finish());
  }
  return programs;
}

std::string verdict(const Plan& plan, const Programs& programs) {
  const auto found = verify(plan.problem, programs);
  return found ? std::string(found->rule) + ": " + found->text : "correct";
}

std::string rule(const Plan& plan, const Programs& programs) {
  const auto found = verify(plan.problem, programs);
  return found ? std::string(found->rule) : "correct";
}

/// All ranks of one node add and read, element by element and so in two waves over one place:
///   0 arrive                       4 signal use node flag 1
///   1 accumulate input[0] flag 0   5 await node flag 1
///   2 await node flag 0            6 accumulate input[1] flag 2
///   3 copy node to output[0]       7 await node flag 2
///                                  8 copy node to output[1]
void add_in_waves(Builder& builder, Rank ranks) {
  const Slice place = builder.node(1);
  std::int32_t used = -1;
  for (Count i = 0; i < 2; ++i) {
    const std::int32_t added = builder.flag();
    if (i > 0) builder.await(place, used, ranks);
    builder.accumulate(builder.input({i, 1}), place, added);
    builder.await(place, added, ranks);
    builder.copy(place, builder.output({i, 1}));
    if (i > 0) break;
    used = builder.flag();
    builder.signal_end_of_use(place, used);
  }
}

Programs waves(const Plan& plan) {
  return programs_of(plan, [&](Builder& b) { add_in_waves(b, plan.problem.ranks); });
}

/// Nodes of two ranks. The lower one drives: it exchanges the sums with the other driver.
///   0 arrive                       driver:                      mate:
///   1 accumulate input flag 0      2 await node flag 0          2 await node flag 1
///                                  3 send node                  3 copy node to output
///                                  4 recv scratch
///                                  5 combine
///                                  6 signal node flag 1
void drive(const Plan& plan, Builder& builder) {
  const Slice sum = builder.node(2);
  const auto added = builder.flag();
  const auto final = builder.flag();
  builder.accumulate(builder.input({0, 2}), sum, added);
  const Nodes nodes(plan.placement, plan.problem.ranks);
  const Rank node = nodes.node(builder.me());
  if (nodes.place(builder.me()) == 0) {
    builder.await(sum, added, 2);
    const Rank other = nodes.ranks(1 - node).front();
    const Slice landing = builder.scratch(2);
    builder.send(other, sum);
    builder.recv(other, landing);
    // The operand that is written stands on the right, on both nodes the second one's.
    if (node == 0) {
      builder.combine(sum, landing, Into::right);
      builder.copy(landing, sum);
    } else {
      builder.combine(landing, sum, Into::right);
    }
    builder.signal(sum, final);
  } else {
    builder.await(sum, final, 1);
  }
  builder.copy(sum, builder.output({0, 2}));
}

Programs drivers(const Plan& plan) {
  return programs_of(plan, [&](Builder& b) { drive(plan, b); });
}

OpIndex find(const Program& program, OpKind kind, int nth = 0) {
  OpIndex i = 0;
  while (program.operations[i].kind != kind || nth-- > 0) ++i;
  return i;
}

/// Takes the operation out, as if it had never been written.
void remove(Program& program, OpIndex at) {
  program.operations.erase(program.operations.begin() + at);
  program.after.pop_back();
  testing::derive_dependencies(program);
}

TEST(VerifyNodes, CorrectProgramsPass) {
  for (const Rank ranks : {1, 2, 5}) {
    const Plan plan = plan_of(Placement(static_cast<std::size_t>(ranks), 0));
    EXPECT_EQ(verdict(plan, waves(plan)), "correct");
  }
  for (const Placement& placement : {Placement{0, 0, 1, 1}, Placement{0, 1, 0, 1}}) {
    const Plan plan = plan_of(placement);
    EXPECT_EQ(verdict(plan, drivers(plan)), "correct");
  }
}

struct Break {
  const char* rule;
  const char* what;
  std::function<void(Programs&)> apply;
};

TEST(VerifyNodes, MistakesOnOneNodeAreNamed) {
  const auto op = [](Programs& p, OpIndex i) -> Operation& { return p[1].operations[i]; };
  const std::vector<Break> breaks = {
      {"plan", "other size", [](Programs& p) { ++p[1].node_count; }},
      {"plan", "other flags", [](Programs& p) { ++p[1].flags; }},
      {"plan", "no node", [](Programs& p) { p[1].node = 2; }},
      {"plan", "negative node", [](Programs& p) { p[1].node = -1; }},
      {"plan", "too long", [](Programs& p) { p[0].node_count = p[1].node_count = kMaxNodeBytes; }},
      {"plan", "negative size", [](Programs& p) { p[0].node_count = p[1].node_count = -1; }},
      {"bounds", "many flags", [](Programs& p) { p[0].flags = p[1].flags = kMaxNodeFlags + 1; }},
      {"bounds", "negative flags", [](Programs& p) { p[0].flags = p[1].flags = -1; }},
      {"bounds", "no such flag", [&](Programs& p) { op(p, 2).flag = 3; }},
      {"bounds", "negative flag", [&](Programs& p) { op(p, 4).flag = -1; }},
      {"bounds", "no flag", [&](Programs& p) { op(p, 1).flag = -1; }},
      {"bounds", "waits for nothing", [&](Programs& p) { op(p, 2).count = 0; }},
      {"bounds", "await beyond", [&](Programs& p) { op(p, 2).target.begin = 1; }},
      {"bounds", "signal of output",
       [&](Programs& p) { op(p, 4).target = {Buffer::output, 0, 1}; }},
      {"bounds", "accumulate to output",
       [&](Programs& p) { op(p, 1).target = {Buffer::output, 0, 1}; }},
      {"bounds", "accumulate into its source", [&](Programs& p) { op(p, 1).into = Into::left; }},
      {"bounds", "accumulate of itself", [&](Programs& p) { op(p, 1).source = op(p, 1).target; }},
      {"bounds", "sizes", [&](Programs& p) { op(p, 1).source.count = 2; }},
      {"bounds", "accumulate of nothing",
       [&](Programs& p) { op(p, 1).source = op(p, 1).target = kNothing; }},
      {"arrival", "before the arrival", [](Programs& p) { p[1].after[1].clear(); }},
      {"flags", "count too low", [&](Programs& p) { op(p, 2).count = 1; }},
      {"flags", "count too high", [&](Programs& p) { op(p, 2).count = 3; }},
      {"flags", "no signal", [](Programs& p) { remove(p[1], 4); }},
      {"flags", "two signals",
       [&](Programs& p) {
         p[1].operations.push_back(op(p, 4));
         p[1].after.push_back({8});
       }},
      {"flags", "signals and accumulates", [&](Programs& p) { op(p, 4).flag = 0; }},
      {"hazard", "copies before its await ends", [](Programs& p) { p[1].after[3] = {0, 1}; }},
      {"race", "no await", [](Programs& p) { remove(p[1], 2); }},
      {"race", "end of use not awaited", [](Programs& p) { remove(p[1], 5); }},
      {"deadlock", "awaits before it adds",
       [&](Programs& p) {
         std::swap(op(p, 1), op(p, 2));
         p[1].after[1] = {};
         p[1].after[2] = {0, 1};
       }},
      {"undefined", "reads what nobody wrote",
       [&](Programs& p) {
         for (Rank r : {0, 1}) {
           Program& program = p[static_cast<std::size_t>(r)];
           program.node_count = 2;
         }
         op(p, 8).source.begin = 1;
       }},
      {"index", "another element", [&](Programs& p) { op(p, 1).source.begin = 1; }},
      {"once", "the sum once more", [&](Programs& p) {
         // Rank 1 adds what it has read of the first wave, as if element 0 were the second one.
         p[0].operations[6].source.begin = 0;
         op(p, 6).source = {Buffer::output, 0, 1};
         p[1].after[6].push_back(3);
       }}};
  for (const Break& broken : breaks) {
    const Plan plan = plan_of({0, 0});
    Programs programs = waves(plan);
    broken.apply(programs);
    EXPECT_EQ(rule(plan, programs), broken.rule) << broken.what << ": " << verdict(plan, programs);
  }
}

TEST(VerifyNodes, MistakesOfDriversAreNamed) {
  const std::vector<Break> breaks = {
      {"race", "sends before the mate has added",
       [](Programs& p) { remove(p[0], find(p[0], OpKind::await)); }},
      {"race", "the mate reads too early",
       [](Programs& p) { remove(p[1], find(p[1], OpKind::await)); }},
      {"race", "the mate awaits the sum instead of the result",
       [](Programs& p) {
         Operation& await = p[1].operations[find(p[1], OpKind::await)];
         await.flag = 0;
         await.count = 2;
       }},
      {"hazard", "signals before it has the result",
       [](Programs& p) { p[0].after[find(p[0], OpKind::signal)] = {1}; }},
      {"race", "tells of nothing, and early",
       [](Programs& p) {
         p[0].operations[find(p[0], OpKind::signal)].source = kNothing;
         p[0].after[find(p[0], OpKind::signal)] = {1};
       }},
      {"flags", "does not signal", [](Programs& p) { remove(p[0], find(p[0], OpKind::signal)); }}};
  for (const Break& broken : breaks) {
    const Plan plan = plan_of({0, 0, 1, 1});
    Programs programs = drivers(plan);
    broken.apply(programs);
    EXPECT_EQ(rule(plan, programs), broken.rule) << broken.what << ": " << verdict(plan, programs);
  }
}

/// Each node adds the vectors of all ranks, which the drivers exchange one by one.
Programs add_everywhere(const Plan& plan) {
  return programs_of(plan, [&](Builder& builder) {
    const Slice sum = builder.node(2);
    const auto added = builder.flag();
    const Rank partner = (builder.me() + 2) % 4;
    const Slice landing = builder.scratch(2);
    builder.send(partner, builder.input({0, 2}));
    builder.recv(partner, landing);
    builder.accumulate(builder.input({0, 2}), sum, added);
    builder.accumulate(landing, sum, added);
    builder.await(sum, added, 4);
    builder.copy(sum, builder.output({0, 2}));
  });
}

TEST(VerifyNodes, TwoNodesThatAddTheSameHaveNotTheSameTree) {
  const Plan plan = plan_of({0, 0, 1, 1});
  EXPECT_EQ(rule(plan, add_everywhere(plan)), "same-tree");
  const Plan exact = plan_of({0, 0, 1, 1}, true, true);
  EXPECT_EQ(verdict(exact, add_everywhere(exact)), "correct");
}

/// The ranks of one node add in turn: the first in `turns` first. An accumulate computes source op
/// target, so that the order of ranks is kept if the highest one comes first.
Programs add_in_turn(const Plan& plan, const std::vector<Rank>& turns) {
  return programs_of(plan, [&](Builder& builder) {
    const Slice sum = builder.node(2);
    const auto added = builder.flag();
    std::vector<std::int32_t> done;
    for (std::size_t i = 0; i < turns.size(); ++i) done.push_back(builder.flag());
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (turns[i] != builder.me()) continue;
      if (i > 0) builder.await(sum, done[i - 1], 1);
      builder.accumulate(builder.input({0, 2}), sum, added);
      builder.signal(sum, done[i]);
    }
    builder.await(sum, added, static_cast<Rank>(turns.size()));
    builder.copy(sum, builder.output({0, 2}));
  });
}

TEST(VerifyNodes, OperatorsThatDoNotCommuteAccumulateInOrderOnly) {
  const Plan strict = plan_of({0, 0, 0}, false);
  const Plan lax = plan_of({0, 0, 0}, true);
  EXPECT_EQ(verdict(strict, add_in_turn(strict, {2, 1, 0})), "correct");
  EXPECT_EQ(rule(strict, add_in_turn(strict, {0, 1, 2})), "order");
  EXPECT_EQ(rule(strict, add_in_turn(strict, {2, 0, 1})), "order");
  EXPECT_EQ(verdict(lax, add_in_turn(lax, {0, 2, 1})), "correct");
  const Plan pair = plan_of({0, 0}, false);
  EXPECT_EQ(verdict(pair, waves(pair)).substr(0, 6), "order:");
  const Plan alone = plan_of({0}, false);
  EXPECT_EQ(verdict(alone, waves(alone)), "correct");
}

TEST(VerifyNodes, DeadlockNamesTheFlagAndTheRanksThatDoNotCount) {
  const Plan plan = plan_of({0, 0});
  Programs programs = waves(plan);
  std::swap(programs[1].operations[1], programs[1].operations[2]);
  programs[1].after[1] = {};
  programs[1].after[2] = {0, 1};
  EXPECT_EQ(verdict(plan, programs),
            "deadlock: with every window: rank 0, operation 2 (await node[0:1] flag 0 count 2) "
            "waits for flag 0 of node 0, on which rank 1 must count: rank 1, operation 2 "
            "(accumulate input[0:1] to node[0:1] flag 0); rank 1, operation 1 (await node[0:1] "
            "flag 0 count 2) waits for flag 0 of node 0, on which rank 1 must count: rank 1, "
            "operation 2 (accumulate input[0:1] to node[0:1] flag 0); cycle: rank 1, operation 1 "
            "(await node[0:1] flag 0 count 2) -> rank 1, operation 2 (accumulate input[0:1] to "
            "node[0:1] flag 0) -> the first again");
}

/// A rank may not write what it has sent before its own send has ended, even if it knows that the
/// message has been received; and a mate that does not know of the send may not either.
TEST(VerifyNodes, ThatAMessageCameDoesNotEndItsSend) {
  const Plan plan = plan_of({0, 0, 1});
  const auto write = [&](bool tells_after_send) {
    return programs_of(plan, [&](Builder& builder) {
      const Slice place = builder.node(2);
      const auto ended = builder.flag();
      const auto written = builder.flag();
      const Slice landing = builder.scratch(2);
      if (builder.me() == 0) {
        builder.copy(builder.input({0, 2}), place);
        builder.send(2, place);
        if (tells_after_send) builder.signal_end_of_use(place, ended);
      }
      if (builder.me() == 2) {
        builder.recv(0, landing);
        builder.send(1, landing);
      }
      if (builder.me() == 1) {
        builder.recv(2, landing);
        if (tells_after_send) builder.await(place, ended, 1);
        builder.copy(landing, place);
        builder.signal(place, written);
      }
    });
  };
  EXPECT_EQ(rule(plan, write(false)), "race");
  EXPECT_EQ(rule(plan, write(true)), "delivery");  // the rules before it are kept
}

// --- The race rule against all pairs ---

constexpr Rank kRanks = 4;
constexpr Count kPlaces = 3;

struct Written {
  std::vector<Builder> builders;
  std::vector<Slice> places, scratch;

  explicit Written(const Plan& plan) {
    for (Rank me = 0; me < kRanks; ++me) {
      builders.emplace_back(plan, me);
      places.push_back(builders.back().node(kPlaces));
      scratch.push_back(builders.back().scratch(kPlaces));
    }
  }
  Builder& of(Rank rank) { return builders[static_cast<std::size_t>(rank)]; }
};

Slice random_part(Random& random, const Slice& all) {
  const auto count = static_cast<Count>(1 + random.below(2));
  const auto begin =
      static_cast<Count>(random.below(static_cast<std::uint64_t>(kPlaces - count) + 1));
  return all.part(begin, count);
}

/// One step of some ranks of a random program, which all keep the order of their steps.
void add_step(Written& all, Random& random) {
  const auto rank = static_cast<Rank>(random.below(kRanks));
  const Rank mate = rank ^ 1;  // ranks 0 and 1, 2 and 3 share nodes
  const Slice part = random_part(random, all.places[0]);
  const Slice own = all.scratch[0].part(0, part.count);
  switch (random.below(6)) {
    case 0:
      return all.of(rank).copy(part, own);
    case 1:
      return all.of(rank).copy(own, part);
    case 2: {  // from rank to mate
      std::int32_t flag = 0;
      for (Builder& builder : all.builders) flag = builder.flag();
      all.of(rank).signal(random.below(2) == 0 ? part : all.places[0], flag);
      return all.of(mate).await(random.below(2) == 0 ? part : all.places[0], flag, 1);
    }
    case 3: {
      std::int32_t flag = 0;
      for (Builder& builder : all.builders) flag = builder.flag();
      for (const Rank each : {rank, mate}) all.of(each).accumulate(own, part, flag);
      if (random.below(3) != 0) all.of(mate).await(part, flag, 2);
      return;
    }
    default: {
      const auto to = static_cast<Rank>((rank + 1 + static_cast<Rank>(random.below(3))) % kRanks);
      const bool sends_node = random.below(2) == 0;
      all.of(rank).send(to, sends_node ? part : own);
      return all.of(to).recv(rank, random.below(2) == 0 ? part : own);
    }
  }
}

void drop_some(Program& program, Random& random) {
  for (auto& after : program.after) {
    if (!after.empty() && random.below(12) == 0) after.pop_back();
  }
}

TEST(VerifyNodes, RacesAgreeWithAllPairs) {
  Random random(11);
  const Plan plan = plan_of({0, 0, 1, 1});
  int right = 0;
  int wrong = 0;
  for (int round = 0; round < 6000; ++round) {
    Written all(plan);
    for (std::uint64_t step = 2 + random.below(7); step > 0; --step) add_step(all, random);
    Programs programs;
    for (Builder& builder : all.builders) programs.push_back(builder.finish());
    if (round % 3 == 0) drop_some(programs[random.below(kRanks)], random);
    verifier::Messages messages;
    ASSERT_FALSE(verifier::check_matching(programs, messages));
    const verifier::Flags flags(programs);
    ASSERT_FALSE(verifier::check_flags(programs, flags));
    ASSERT_TRUE(testing::counted_right(programs));
    if (verifier::check_hazards(programs)) continue;  // races rely on the order within a rank
    const auto execution = verifier::execute(programs, messages, {.one_peer = false});
    if (!execution.complete) continue;
    verifier::HappensBefore order(programs, messages, flags, execution);
    const auto found = verifier::check_races(programs, messages, execution, order);
    ASSERT_EQ(found.has_value(), !testing::race_free(programs))
        << (found ? found->text : "") << '\n'
        << to_text(Schedule{plan, programs});
    ++(found ? wrong : right);
  }
  // Right and wrong programs occurred.
  EXPECT_GT(right, 500);
  EXPECT_GT(wrong, 500);
}

}  // namespace
}  // namespace latecomer::nodes_under_test
