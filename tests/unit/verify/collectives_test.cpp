// The task of each collective, as the verifier sees it: the plainest program passes, and one that
// is nearly right does not.
#include <gtest/gtest.h>

#include <functional>

#include "schedule/builder.hpp"
#include "verify/verify.hpp"

namespace latecomer {
namespace {

constexpr Rank kRanks = 3;

Plan plan_of(Collective collective, Rank root = 0, bool in_place = false) {
  Plan plan;
  plan.algorithm = "plain";
  plan.problem = {collective, kRanks, 2 * kRanks};
  plan.problem.root = root;
  plan.problem.in_place = in_place;
  return plan;
}

using Write = std::function<void(const Problem& problem, Builder& builder)>;

std::vector<Program> programs(const Plan& plan, const Write& write) {
  std::vector<Program> all;
  for (Rank me = 0; me < kRanks; ++me) {
    Builder builder(plan, me);
    write(plan.problem, builder);
    all.push_back(builder.finish());
  }
  return all;
}

std::string verdict(const Plan& plan, const Write& write) {
  const auto found = verify(plan.problem, programs(plan, write));
  if (!found) return "correct";
  return std::string(found->rule) + ": " + found->text;
}

/// `place(rank)`: at which rank's place the root puts a rank's part.
Write gather(const std::function<Rank(Rank)>& place) {
  return [=](const Problem& problem, Builder& builder) {
    const Rank me = builder.me();
    if (me != problem.root) return builder.send(problem.root, builder.input(problem.part(me)));
    for (Rank rank = 0; rank < kRanks; ++rank) {
      const Slice goal = builder.output(problem.part(place(rank)));
      rank == me ? builder.copy(builder.input(problem.part(me)), goal) : builder.recv(rank, goal);
    }
  };
}

Write scatter(const std::function<Rank(Rank)>& taken) {
  return [=](const Problem& problem, Builder& builder) {
    const Rank me = builder.me();
    const Slice goal = builder.output(problem.part(me));
    if (me != problem.root) return builder.recv(problem.root, goal);
    for (Rank rank = 0; rank < kRanks; ++rank) {
      const Slice part = builder.input(problem.part(taken(rank)));
      rank == me ? builder.copy(part, goal) : builder.send(rank, part);
    }
  };
}

/// The root sends `sent` to all, which receive as much.
Write bcast(Range sent) {
  return [=](const Problem& problem, Builder& builder) {
    if (builder.me() != problem.root) return builder.recv(problem.root, builder.output(sent));
    for (Rank rank = 0; rank < kRanks; ++rank) {
      if (rank != problem.root) builder.send(rank, builder.input(sent));
    }
  };
}

/// All send their part to all; `keeps`: true if the own one goes to the output.
Write allgather(bool keeps) {
  return [=](const Problem& problem, Builder& builder) {
    const Rank me = builder.me();
    const Slice own = builder.input(problem.part(me));
    if (keeps) builder.copy(own, builder.output(problem.part(me)));
    for (Rank rank = 0; rank < kRanks; ++rank) {
      if (rank == me) continue;
      builder.send(rank, own);
      builder.recv(rank, builder.output(problem.part(rank)));
    }
  };
}

/// Rank `at` combines the data from all others.
Write reduce(Rank at, Rank ranks) {
  return [=](const Problem& problem, Builder& builder) {
    const Range all{0, problem.count};
    const Rank me = builder.me();
    if (me >= ranks) return;
    if (me != at) return builder.send(at, builder.input(all));
    Slice sum = builder.scratch(problem.count);
    builder.copy(builder.input(all), sum);
    for (Rank rank = 0; rank < ranks; ++rank) {
      if (rank == me) continue;
      const Slice landing = builder.scratch(problem.count);
      builder.recv(rank, landing);
      builder.combine(sum, landing, Into::left);
    }
    builder.copy(sum, builder.output(all));
  };
}

Rank itself(Rank rank) { return rank; }
Rank next(Rank rank) { return (rank + 1) % kRanks; }

TEST(VerifyCollectives, PlainProgramsPass) {
  for (const Rank root : {0, 1, 2}) {
    for (const bool in_place : {false, true}) {
      const auto passes = [&](Collective collective, const Write& write) {
        EXPECT_EQ(verdict(plan_of(collective, root, in_place), write), "correct")
            << to_string(collective) << ", root " << root << ", in place " << in_place;
      };
      passes(Collective::gather, gather(itself));
      passes(Collective::scatter, scatter(itself));
      passes(Collective::bcast, bcast({0, 2 * kRanks}));
      passes(Collective::reduce, reduce(root, kRanks));
    }
  }
  EXPECT_EQ(verdict(plan_of(Collective::allgather), allgather(true)), "correct");
}

TEST(VerifyCollectives, APartAtAnotherRanksPlaceIsWrong) {
  EXPECT_EQ(verdict(plan_of(Collective::gather), gather(next)),
            "index: rank 0 ends with output[0:2] holding elements 4 to 5 of rank 2, should hold "
            "element 0 and the following of rank 0");
  EXPECT_EQ(verdict(plan_of(Collective::scatter, 1), scatter(next)),
            "index: rank 0 ends with output[0:2] holding elements 2 to 3 of rank 1, should hold "
            "element 0 and the following of rank 1");
}

TEST(VerifyCollectives, APartThatIsNowhereIsMissed) {
  EXPECT_EQ(verdict(plan_of(Collective::allgather), allgather(false)),
            "delivery: rank 0 ends with output[0:2] holding nothing, should hold element 0 and the "
            "following of rank 0");
  // In place it is there already.
  EXPECT_EQ(verdict(plan_of(Collective::allgather, 0, true), allgather(false)), "correct");
  EXPECT_EQ(
      verdict(plan_of(Collective::bcast), bcast({0, 5})),
      "delivery: rank 1 ends with output[5:6] holding nothing, should hold element 5 of rank 0");
}

/// Programs of a plan with another root.
TEST(VerifyCollectives, AnotherRootIsWrong) {
  const auto rule = [](Collective collective, const Write& write) {
    const auto found =
        verify(plan_of(collective, 0).problem, programs(plan_of(collective, 1), write));
    return found ? std::string(found->rule) : "correct";
  };
  EXPECT_EQ(rule(Collective::bcast, bcast({0, 6})), "plan");
  EXPECT_EQ(rule(Collective::gather, gather(itself)), "plan");
  EXPECT_EQ(rule(Collective::scatter, scatter(itself)), "plan");
  EXPECT_EQ(rule(Collective::reduce, reduce(1, kRanks)), "plan");
}

TEST(VerifyCollectives, AReductionWithoutARankIsWrong) {
  EXPECT_EQ(verdict(plan_of(Collective::reduce), reduce(0, kRanks - 1)),
            "delivery: rank 0 ends with output[0:6] holding elements 0 to 5 of ranks (1 0), should "
            "hold element 0 and the following of all 3 ranks");
}

}  // namespace
}  // namespace latecomer
