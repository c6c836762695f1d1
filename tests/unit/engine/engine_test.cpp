// The engine over a transport that only notes the posted operations; the test completes them by
// hand.
#include "engine/engine.hpp"

#include <gtest/gtest.h>

#include "schedule/builder.hpp"

namespace latecomer {
namespace {

class NotingTransport final : public Transport {
 public:
  void post(const Operation& operation, Token token, PostOptions options) override {
    const std::string text = to_text(operation);
    posted.push_back(text.substr(0, text.find(' ')) + " " + std::to_string(token));
    if (options.first) posted.back() += " first";
    if (is_message(operation)) posted.back() += " with " + std::to_string(operation.peer);
  }
  void send_control(Rank peer, ControlWords) override {
    posted.push_back("control " + std::to_string(peer));
  }

  /// The operations posted since the last call.
  std::vector<std::string> take() { return std::exchange(posted, {}); }

 private:
  std::vector<std::string> posted;
};

using Posted = std::vector<std::string>;

Plan plan_for(Progress progress) {
  Plan plan{"by hand", {Collective::allreduce, 3, 4}, {}, {}, {}, progress};
  return plan;
}

/// 1, 2: receives into scratch; 3: combine with the input; 4: send; 5: receive the result.
Program example(Progress progress) {
  Builder builder(plan_for(progress), 0);
  const Slice first = builder.scratch(4);
  const Slice second = builder.scratch(4);
  builder.recv(1, first);
  builder.recv(1, second);
  builder.combine(first, second, Into::left);
  builder.combine(builder.input({0, 4}), first, Into::right);
  builder.send(2, first);
  builder.recv(2, builder.output({0, 4}));
  return builder.finish();
}

Completion done(const Program& program, Token token) { return {token, 0, program.plan_hash}; }

/// The example in the foreground, after the arrival.
struct Arrived {
  Program program = example(Progress::foreground);
  NotingTransport transport;
  const ProgramIndex index{program};
  Engine engine{index, transport};

  Arrived() {
    engine.start();
    engine.arrive();
  }
};

TEST(Engine, ForegroundPostsNothingBeforeTheArrival) {
  const Program program = example(Progress::foreground);
  NotingTransport transport;
  const ProgramIndex index(program);
  Engine engine(index, transport);
  engine.start();
  EXPECT_EQ(transport.take(), Posted{});
  engine.arrive();
  EXPECT_EQ(transport.take().size(), 3u);
}

TEST(Engine, BackgroundRunsWhatDoesNotDependOnTheArrival) {
  const Program program = example(Progress::background);
  NotingTransport transport;
  const ProgramIndex index(program);
  Engine engine(index, transport);
  engine.start();
  EXPECT_EQ(transport.take(), (Posted{"recv 1 first with 1", "recv 2 with 1"}));
  engine.completed(done(program, 1));
  engine.completed(done(program, 2));
  EXPECT_EQ(transport.take(), Posted{"combine 3"});
  engine.completed(done(program, 3));
  EXPECT_EQ(transport.take(), Posted{});  // the next combine reads the input
  engine.arrive();
  EXPECT_EQ(transport.take(), (Posted{"recv 6 first with 2", "combine 4"}));
}

TEST(Engine, UserOperatorsMayBeKeptForTheCaller) {
  const Program program = example(Progress::background);
  NotingTransport transport;
  const ProgramIndex index(program);
  Engine engine(index, transport, {.combine_before_arrival = false});
  engine.start();
  engine.completed(done(program, 1));
  engine.completed(done(program, 2));
  (void)transport.take();
  engine.arrive();
  EXPECT_EQ(transport.take(), (Posted{"recv 6 first with 2", "combine 3"}));
}

/// An accumulate combines, too; a copy needs no operator.
TEST(Engine, WhatIsKeptForTheCallerIsEachUseOfTheOperator) {
  Builder builder(plan_for(Progress::background), 0);
  const Slice first = builder.scratch(4);
  const Slice second = builder.scratch(4);
  builder.recv(1, first);
  builder.copy(first, second);
  builder.accumulate(second, builder.node(4), builder.flag());
  const Program program = builder.finish();
  NotingTransport transport;
  const ProgramIndex index(program);
  Engine engine(index, transport, {.combine_before_arrival = false});
  engine.start();
  engine.completed(done(program, 1));
  EXPECT_EQ(transport.take(), (Posted{"recv 1 first with 1", "copy 2"}));
  engine.completed(done(program, 2));
  EXPECT_EQ(transport.take(), Posted{});
  engine.arrive();
  EXPECT_EQ(transport.take(), Posted{"accumulate 3"});
}

TEST(Engine, WindowBoundsRequestsPerPeerAndDirection) {
  const Program program = example(Progress::background);
  NotingTransport transport;
  const ProgramIndex index(program);
  Engine engine(index, transport, {.window = 1});
  engine.start();
  EXPECT_EQ(transport.take(), Posted{"recv 1 first with 1"});
  engine.completed(done(program, 1));
  EXPECT_EQ(transport.take(), Posted{"recv 2 with 1"});
}

TEST(Engine, EndsWhenAllIsDone) {
  Arrived run;
  for (Token token = 1; token <= 6; ++token) {
    EXPECT_EQ(run.engine.status(), Status::running);
    run.engine.completed(done(run.program, token));
  }
  EXPECT_EQ(run.engine.status(), Status::done);
}

TEST(Engine, AnotherPlanIsANamedError) {
  Arrived run;
  run.engine.completed({1, 0, run.program.plan_hash + 1});
  EXPECT_EQ(run.engine.status(), Status::failed);
  EXPECT_EQ(run.engine.failure(), "rank 1 follows another plan than rank 0");
}

TEST(Engine, TransportErrorsNameTheOperation) {
  Arrived run;
  run.engine.completed({2, 17, 0});
  EXPECT_EQ(run.engine.failure(),
            "a message from rank 1: recv scratch[4:8] from 1 failed with transport error 17");
}

TEST(Engine, SaysWhatItWaitsFor) {
  Arrived run;
  run.engine.completed(done(run.program, 1));
  EXPECT_EQ(run.engine.waiting_for(),
            "to receive from rank 1 (1 of 2 done), to send to rank 2 (0 of 1 done), "
            "to receive from rank 2 (0 of 1 done)");
}

/// Receives from 1, 2 and 1 again; sends to both when arrived.
Program alternating() {
  Builder builder(plan_for(Progress::foreground), 0);
  for (const Rank peer : {1, 1, 2, 1}) builder.recv(peer, builder.scratch(2));
  builder.send(2, builder.input({0, 1}));
  builder.send(1, builder.input({0, 4}));
  return builder.finish();
}

TEST(EngineOrder, LongReceivesArePostedFromOnePeerAtATime) {
  const Program program = alternating();
  NotingTransport transport;
  const ProgramIndex index(program, 1);
  Engine engine(index, transport);
  engine.start();
  engine.arrive();
  EXPECT_EQ(transport.take(), (Posted{"recv 1 first with 1", "recv 2 with 1", "send 5 first with 2",
                                      "send 6 first with 1"}));
  engine.completed(done(program, 2));
  EXPECT_EQ(transport.take(), Posted{});
  engine.completed(done(program, 1));
  EXPECT_EQ(transport.take(), Posted{"recv 3 first with 2"});
  engine.completed(done(program, 3));
  EXPECT_EQ(transport.take(), Posted{"recv 4 with 1"});
}

TEST(EngineOrder, ShortOnesAreAllPostedInTheOrderOfTheProgram) {
  const Program program = alternating();
  NotingTransport transport;
  const ProgramIndex index(program, 2);
  Engine engine(index, transport);
  engine.start();
  engine.arrive();
  EXPECT_EQ(transport.take(),
            (Posted{"recv 1 first with 1", "recv 2 with 1", "recv 3 first with 2", "recv 4 with 1",
                    "send 5 first with 2", "send 6 first with 1"}));
}

}  // namespace
}  // namespace latecomer
