// The executors of each kind of row.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/error.hpp"
#include "simulate/simulate.hpp"

namespace latecomer {
namespace {

Plan planned(std::string_view algorithm, Rank ranks, Count count = 4) {
  return make_plan(find_algorithm(Collective::reduce, algorithm),
                   {Collective::reduce, ranks, count}, {}, {});
}

std::string text_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MakeParty, AProgramsFrameIsItsProgramsOwn) {
  const Plan plan = planned("binomial", 4);
  for (Rank rank = 0; rank < 4; ++rank) {
    const Program program = build_program(plan, rank);
    EXPECT_EQ(make_executor(plan, rank, 10)->context(), static_cast<const RankContext&>(program));
  }
}

TEST(MakeParty, AProtocolHasAFrameAndNoProgram) {
  const Plan plan = planned("local_redirect", 4);
  const auto executor = make_executor(plan, 3, 10);
  EXPECT_EQ(executor->context().plan_hash, hash(plan));
  EXPECT_EQ(executor->context().me, 3);
  EXPECT_EQ(executor->context().input_count, 4);
  EXPECT_EQ(executor->context().output_count, 0);
  const std::string why = text_of([&] { (void)build_program(plan, 3); });
  EXPECT_NE(why.find("one that runs a program"), std::string::npos) << why;
}

/// The names of the control messages of a call in which rank 1 is late.
std::set<std::string> names_told(Collective collective, const char* algorithm) {
  const Plan plan = make_plan(find_algorithm(collective, algorithm), {collective, 5, 1000}, {}, {});
  const Network network;
  const Executors executors = make_executors(plan, network);
  SimulationOptions options;
  options.network = network;
  options.arrivals = {0, 1, 0, 0, 0};
  options.trace = true;
  std::set<std::string> names;
  for (const TraceEntry& entry : simulate(executors, options).trace) {
    if (entry.kind != TraceEntry::Kind::control) continue;
    names.insert(executors.front()->meaning(entry.control).name);
  }
  return names;
}

using Names = std::set<std::string>;

TEST(MakeParty, AProtocolSaysTheMeaningOfItsControlMessages) {
  EXPECT_EQ(names_told(Collective::allreduce, "online_owners"), (Names{"here", "over", "update"}));
  EXPECT_EQ(names_told(Collective::bcast, "arrival_b"), (Names{"feed", "here", "last", "next"}));
  const Names redirect = names_told(Collective::reduce, "local_redirect");
  EXPECT_TRUE(redirect.contains("offer"));
  EXPECT_TRUE(redirect.contains("redirect"));
  EXPECT_FALSE(redirect.contains(""));
}

/// A program's ranks send each other none.
TEST(MakeParty, AProgramKnowsNoControlMessages) {
  const std::uint64_t word = 1;
  EXPECT_EQ(make_executor(planned("binomial", 4), 0, 10)->meaning({&word, 1}).name, "");
}

TEST(MakeParty, RefusesRanksThatThePlanDoesNotKnow) {
  for (const char* name : {"binomial", "local_redirect"}) {
    for (const Rank rank : {-1, 4}) {
      const std::string why = text_of([&] { (void)make_executor(planned(name, 4), rank, 10); });
      EXPECT_NE(why.find("below 4"), std::string::npos) << name << ": " << why;
    }
  }
}

/// All ranks of the first plan, but for the last one, which follows the second.
Simulation last_one_differs(const Plan& plan, std::unique_ptr<Executor> last) {
  SimulationOptions options;
  Executors executors = make_executors(plan, options.network);
  executors.back() = std::move(last);
  return simulate(executors, options);
}

TEST(Protocol, NamesTheRankThatFollowsAnotherPlan) {
  const Plan plan = planned("local_redirect", 2);
  Plan other = plan;
  other.parameters["other"] = 1;
  const Simulation result = last_one_differs(plan, make_executor(other, 1, 10));
  EXPECT_EQ(result.failure, "rank 0: rank 1 follows another plan than rank 0");
}

TEST(Protocol, SaysWhomItWaitsFor) {
  const Plan plan = planned("local_redirect", 3);
  Plan idle = planned("binomial", 3);
  Program program = build_program(idle, 2);
  program.operations.resize(1);
  program.after.resize(1);
  const Simulation result =
      last_one_differs(plan, std::make_unique<ProgramExecutor>(std::move(program)));
  // The line is 1, 2, 0: both others wait for rank 2.
  EXPECT_EQ(result.failure, "rank 0: stuck, waits for rank 2");
}

}  // namespace
}  // namespace latecomer
