#include "simulate/simulate.hpp"

#include <gtest/gtest.h>

#include "algorithms/plans.hpp"
#include "base/error.hpp"
#include "reference/reference.hpp"

namespace latecomer {
namespace {

constexpr Count kElements = 8;

Plan plan_of(Rank ranks) {
  return {"by hand", {Collective::allreduce, ranks, kElements, 1}, {}, {}, {}, {}};
}

/// Rank 0 sends its vector to 1, in pieces.
std::vector<Program> one_way(int pieces) {
  Builder sender(plan_of(2), 0);
  Builder receiver(plan_of(2), 1);
  const Count size = kElements / pieces;
  for (int i = 0; i < pieces; ++i) {
    sender.send(1, sender.input({i * size, size}));
    receiver.recv(0, receiver.output({i * size, size}));
  }
  return {sender.finish(), receiver.finish()};
}

/// Ranks 0 and 1 send their vectors to 2, which posts the receive from 0 first.
std::vector<Program> two_to_one() {
  Builder a(plan_of(3), 0);
  Builder b(plan_of(3), 1);
  Builder c(plan_of(3), 2);
  a.send(2, a.input({0, kElements}));
  b.send(2, b.input({0, kElements}));
  c.recv(0, c.scratch(kElements));
  c.recv(1, c.scratch(kElements));
  return {a.finish(), b.finish(), c.finish()};
}

std::vector<Program> receiver_paced(std::vector<Program> programs) {
  for (Program& program : programs) program.receiver_paced = true;
  return programs;
}

SimulationOptions options_with(const Network& network, const std::vector<Seconds>& arrivals) {
  SimulationOptions options;
  options.network = network;
  options.arrivals = arrivals;
  options.element_bytes = 1;
  return options;
}

const Network kUnit{.alpha = 1, .beta = 0.5, .gamma = 0};

TEST(VirtualNetwork, ATransferTakesAlphaPlusBytesTimesBeta) {
  const auto result = simulate(one_way(1), options_with(kUnit, {0, 0}));
  EXPECT_EQ(result.exits, (std::vector<Seconds>{5, 5}));
}

TEST(VirtualNetwork, PiecesFollowEachOtherOnThePort) {
  const auto result = simulate(one_way(4), options_with(kUnit, {0, 0}));
  EXPECT_EQ(result.exits, (std::vector<Seconds>{8, 8}));
}

TEST(VirtualNetwork, EagerMessagesDoNotWaitForTheReceiver) {
  const auto result = simulate(one_way(1), options_with(kUnit, {0, 100}));
  EXPECT_EQ(result.exits, (std::vector<Seconds>{5, 100}));
}

TEST(VirtualNetwork, SendsOfBufferedMessagesAreOverAtOnce) {
  const auto exits = [](const std::vector<Program>& programs, Network network) {
    return simulate(programs, options_with(network, {0, 0})).exits;
  };
  Network network = kUnit;
  network.buffer = kElements - 1;
  EXPECT_EQ(exits(one_way(1), network), (std::vector<Seconds>{5, 5}));
  EXPECT_EQ(exits(one_way(2), network), (std::vector<Seconds>{6, 6}));  // one of two finds room
  EXPECT_EQ(exits(one_way(4), network), (std::vector<Seconds>{8, 8}));  // three of four
  network.buffer = kElements;
  EXPECT_EQ(exits(one_way(1), network), (std::vector<Seconds>{0, 5}));
  EXPECT_EQ(exits(one_way(4), network), (std::vector<Seconds>{0, 8}));
  EXPECT_EQ(exits(receiver_paced(one_way(1)), network), (std::vector<Seconds>{5, 5}));
  network.eager_limit = kElements - 1;
  EXPECT_EQ(exits(one_way(1), network), (std::vector<Seconds>{5, 5}));
}

TEST(VirtualNetwork, ShortMessagesWaitForTheReceiverThatPacesThem) {
  const auto result = simulate(receiver_paced(one_way(1)), options_with(kUnit, {0, 100}));
  EXPECT_EQ(result.exits, (std::vector<Seconds>{105, 105}));
}

/// Rank 2 receives first from rank 0, which sends late, although another message is there before.
TEST(VirtualNetwork, ReceiversTakeInTurnWhatTheyPace) {
  const auto exits = [](const std::vector<Program>& programs) {
    return simulate(programs, options_with(kUnit, {10, 0, 0})).exits;
  };
  EXPECT_EQ(exits(two_to_one()), (std::vector<Seconds>{15, 5, 15}));
  EXPECT_EQ(exits(receiver_paced(two_to_one())), (std::vector<Seconds>{15, 20, 20}));
}

TEST(VirtualNetwork, RendezvousWaitsForTheReceiverAndTheHandshake) {
  Network network = kUnit;
  network.eager_limit = kElements - 1;
  network.handshake = 2;
  const auto result = simulate(one_way(1), options_with(network, {0, 100}));
  EXPECT_EQ(result.exits, (std::vector<Seconds>{107, 107}));
}

TEST(VirtualNetwork, OnePortSendsAndReceivesAtOnce) {
  Builder a(plan_of(2), 0);
  Builder b(plan_of(2), 1);
  for (Builder* builder : {&a, &b}) {
    builder->send(1 - builder->me(), builder->input({0, kElements}));
    builder->recv(1 - builder->me(), builder->output({0, kElements}));
  }
  const std::vector<Program> programs = {a.finish(), b.finish()};
  EXPECT_EQ(simulate(programs, options_with(kUnit, {0, 0})).last_exit(), 5);
}

TEST(VirtualNetwork, TwoSendersShareTheReceiversPortUnlessItHasTwo) {
  const std::vector<Program> programs = two_to_one();
  Network network = kUnit;
  EXPECT_EQ(simulate(programs, options_with(network, {})).last_exit(), 10);
  network.ports = 2;
  EXPECT_EQ(simulate(programs, options_with(network, {})).last_exit(), 5);
}

/// Both ranks send each other their vectors.
std::vector<Program> both_ways() {
  std::vector<Program> programs;
  for (const Rank me : {0, 1}) {
    Builder builder(plan_of(2), me);
    builder.send(1 - me, builder.input({0, kElements}));
    builder.recv(1 - me, builder.scratch(kElements));
    programs.push_back(builder.finish());
  }
  return programs;
}

TEST(VirtualNetwork, ExchangesOfLongMessagesMayCostMore) {
  Network network = kUnit;
  network.exchange = 3;
  EXPECT_EQ(simulate(both_ways(), options_with(network, {})).last_exit(), 5);
  network.eager_limit = kElements - 1;
  EXPECT_EQ(simulate(both_ways(), options_with(network, {})).last_exit(), 15);
  EXPECT_EQ(simulate(one_way(1), options_with(network, {})).last_exit(), 5);
}

/// A message of all 8 bytes: one second to start, half a second a byte.
TEST(VirtualNetwork, RestedLinksPassABurstAtOnce) {
  Network network = kUnit;
  network.burst = 3;
  const auto last_exit = [&](const std::vector<Program>& programs) {
    return simulate(programs, options_with(network, {})).last_exit();
  };
  EXPECT_EQ(last_exit(one_way(1)), 1 + 0.5 * (8 - 3));
  EXPECT_EQ(last_exit(both_ways()), 1 + 0.5 * (8 - 3));  // each direction has its own
  // While the second half starts, 2 bytes come back.
  EXPECT_EQ(last_exit(one_way(2)), (1 + 0.5 * (4 - 3)) + (1 + 0.5 * (4 - 2)));
  network.burst = 1 << 20;
  EXPECT_EQ(last_exit(one_way(4)), 4);
}

/// Ranks 0 and 1 share a node; both send to node 1, or to each other.
TEST(VirtualNetwork, RanksOfANodeShareItsLink) {
  Network network = kUnit;
  network.per_node = 2;
  network.local_alpha = 0.25;
  network.local_beta = 0;
  std::vector<Builder> ranks;
  for (Rank me = 0; me < 4; ++me) ranks.emplace_back(plan_of(4), me);
  for (const Rank me : {0, 1}) {
    ranks[static_cast<std::size_t>(me)].send(me + 2, ranks[0].input({0, kElements}));
    auto& receiver = ranks[static_cast<std::size_t>(me + 2)];
    receiver.recv(me, receiver.scratch(kElements));
  }
  ranks[3].send(2, ranks[3].input({0, kElements}));
  ranks[2].recv(3, ranks[2].scratch(kElements));
  std::vector<Program> programs;
  for (Builder& rank : ranks) programs.push_back(rank.finish());
  const auto result = simulate(programs, options_with(network, {}));
  EXPECT_EQ(result.exits, (std::vector<Seconds>{5, 10, 5, 10}));
}

/// Rank 0 posts four messages at once, rank 1 one a little later: it arrives second, not last.
TEST(VirtualNetwork, MessagesArriveInTheOrderInWhichTheyLeft) {
  Builder many(plan_of(3), 0);
  Builder one(plan_of(3), 1);
  Builder receiver(plan_of(3), 2);
  for (int i = 0; i < 4; ++i) {
    many.send(2, many.input({2 * i, 2}));
    receiver.recv(0, receiver.scratch(2));
  }
  one.send(2, one.input({0, 2}));
  receiver.recv(1, receiver.scratch(2));
  const std::vector<Program> programs = {many.finish(), one.finish(), receiver.finish()};
  const auto result = simulate(programs, options_with(kUnit, {0, 0.5, 0}));
  EXPECT_EQ(result.exits, (std::vector<Seconds>{8, 2.5, 10}));
}

TEST(VirtualNetwork, MessagesOfALaneFollowEachOtherOnManyPorts) {
  Network network = kUnit;
  network.ports = 4;
  EXPECT_EQ(simulate(one_way(4), options_with(network, {})).last_exit(), 8);
}

TEST(VirtualNetwork, CombiningTakesGamma) {
  Builder a(plan_of(1), 0);
  const Slice block = a.scratch(kElements);
  a.copy(a.input({0, kElements}), block);
  a.combine(a.input({0, kElements}), block, Into::right);
  const std::vector<Program> programs = {a.finish()};
  const Network network{.alpha = 0, .beta = 0, .gamma = 0.25};
  EXPECT_EQ(simulate(programs, options_with(network, {3})).last_exit(), 5);
}

TEST(VirtualNetwork, JitterIsSeeded) {
  Network network = kUnit;
  network.jitter = 0.5;
  const auto exit_with = [&](std::uint64_t seed) {
    network.seed = seed;
    return simulate(one_way(4), options_with(network, {0, 0})).last_exit();
  };
  EXPECT_EQ(exit_with(1), exit_with(1));
  EXPECT_NE(exit_with(1), exit_with(2));
  EXPECT_GT(exit_with(1), 8);
  EXPECT_LT(exit_with(1), 12);
}

TEST(VirtualNetwork, ReportsWhoIsStuckAndWhy) {
  auto programs = one_way(1);
  programs[0].operations.pop_back();
  programs[0].after.pop_back();
  const auto result = simulate(programs, options_with(kUnit, {0, 0}));
  EXPECT_EQ(result.failure, "rank 1: stuck, waits to receive from rank 0 (0 of 1 done)");
  EXPECT_EQ(result.exits[1], kNever);
}

TEST(VirtualNetwork, ReportsAnotherPlan) {
  auto programs = one_way(1);
  programs[0].plan_hash ^= 1;
  const auto result = simulate(programs, options_with(kUnit, {0, 0}));
  EXPECT_EQ(result.failure, "rank 1: rank 0 follows another plan than rank 1");
}

TEST(VirtualNetwork, TracesEveryTransfer) {
  auto options = options_with(kUnit, {0, 0});
  options.trace = true;
  const auto result = simulate(one_way(4), options);
  ASSERT_EQ(result.trace.size(), 4u);
  EXPECT_EQ(result.trace[1].begin, 2);
  EXPECT_EQ(result.trace[1].end, 4);
  EXPECT_EQ(result.trace[1].to, 1);
  EXPECT_EQ(result.trace[1].kind, TraceEntry::Kind::message);
  EXPECT_EQ(result.trace[1].taken, 4);
}

/// The receive is posted when the receiver arrives, after the message has landed.
TEST(VirtualNetwork, TracesWhenAMessageIsTaken) {
  Network network = kUnit;
  network.eager_limit = 1000;
  auto options = options_with(network, {0, 50});
  options.trace = true;
  const auto programs = one_way(1);
  const auto result = simulate(programs, options);
  ASSERT_EQ(result.trace.size(), 1u);
  const TraceEntry& entry = result.trace.front();
  EXPECT_LT(entry.end, 50);
  EXPECT_EQ(entry.taken, 50);
  EXPECT_EQ(entry.source, programs[0].operations[entry.sender_operation].source);
  EXPECT_EQ(entry.target, programs[1].operations[entry.receiver_operation].target);
}

TEST(Simulate, RefusesArrivalsOfAnotherLength) {
  EXPECT_THROW((void)simulate(one_way(1), options_with(kUnit, {0})), Error);
}

std::string error_of(const std::vector<Program>& programs, const Network& network,
                     const std::vector<Seconds>& arrivals) {
  try {
    (void)simulate(programs, options_with(network, arrivals));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Simulate, NamesTimesThatItsClockCannotCount) {
  const Network long_messages{.alpha = 2e6, .beta = 0, .gamma = 0};
  const Network long_handshake{
      .alpha = 0, .beta = 0, .gamma = 0, .eager_limit = 0, .handshake = 1e9};
  EXPECT_EQ(error_of(one_way(1), kUnit, {0, 1e9}),
            "arrival of rank 1: '1e+09s' is not usable; right would be a time of at most 1e6 "
            "seconds, the longest that is simulated");
  EXPECT_NE(error_of(one_way(1), kUnit, {-2e6, 0}).find("arrival of rank 0"), std::string::npos);
  EXPECT_NE(error_of(one_way(1), long_messages, {0, 0}).find("(alpha + bytes x beta): '2e+06s'"),
            std::string::npos);
  EXPECT_NE(error_of(one_way(1), long_handshake, {0, 0}).find("handshake: '1e+09s'"),
            std::string::npos);
  EXPECT_EQ(error_of(one_way(1), kUnit, {0, 1e6}), "no error");
}

TEST(Simulate, StopsAtTheEndOfItsClock) {
  const Network network{.alpha = 1e6, .beta = 0, .gamma = 0};
  EXPECT_EQ(simulate(one_way(8), options_with(network, {0, 0})).last_exit(), 8e6);
  EXPECT_NE(error_of(one_way(8), network, {0.5e6, 0}).find("end of the simulated time: '8500000s'"),
            std::string::npos);
}

TEST(Simulate, MeanElapsedIsMeanOfExitMinusArrival) {
  const auto result = simulate(one_way(1), options_with(kUnit, {1, 3}));
  EXPECT_DOUBLE_EQ(result.mean_elapsed(), ((6.0 - 1) + (6.0 - 3)) / 2);
}

/// The reference run would notice a wrong result: here operands in the wrong order.
TEST(Reference, NoticesAWrongResult) {
  Plan plan = make_plan(find_algorithm(Collective::allreduce, "linear_tree"),
                        {Collective::allreduce, 3, 5, 4, 0, false}, {}, {});
  EXPECT_EQ(testing::run_and_compare(plan, {}, 1), "");
  plan.order = {2, 1, 0};
  EXPECT_EQ(testing::run_and_compare(plan, {}, 1), "rank 0: wrong result");
}

}  // namespace
}  // namespace latecomer
