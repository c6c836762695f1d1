// An engine that runs its program again: the same operations, and no memory for them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "engine/engine.hpp"
#include "telemetry/watch.hpp"

namespace {

thread_local std::size_t allocations = 0;

}  // namespace

// All that the program calls: sanitizers refuse memory of one kind that another kind frees.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
void* operator new(std::size_t bytes) {
  if (void* const memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace latecomer {
namespace {

/// Every posted operation is done at the next completion; the order is noted.
class InstantTransport final : public Transport {
 public:
  explicit InstantTransport(std::size_t operations) {
    noted.reserve(operations);
    posted_.reserve(operations);
  }

  void post(const Operation&, Token token, PostOptions) override {
    posted_.push_back(token);
    noted.push_back(token);
  }
  void send_control(Rank, ControlWords) override {}

  void run(Protocol& protocol, std::uint64_t plan_hash) {
    noted.clear();
    protocol.start();
    protocol.arrive();
    for (std::size_t next = 0; next < posted_.size(); ++next) {
      protocol.completed({posted_[next], 0, plan_hash});
    }
    posted_.clear();
  }

  std::vector<Token> noted;

 private:
  std::vector<Token> posted_;
};

void expect_the_same_again(const Plan& plan, Rank me) {
  const ProgramExecutor executor(build_program(plan, me), 100);
  InstantTransport transport(executor.program().operations.size());
  const auto engine = executor.create_protocol(transport, {});
  transport.run(*engine, executor.context().plan_hash);
  ASSERT_EQ(engine->status(), Status::done);
  const std::vector<Token> first = transport.noted;
  const std::size_t before = allocations;
  const bool again = engine->restart({});
  transport.run(*engine, executor.context().plan_hash);
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(again);
  EXPECT_EQ(engine->status(), Status::done);
  EXPECT_EQ(transport.noted, first);
}

TEST(EngineRestart, RunsEveryProgramAgainWithoutAllocating) {
  for (const Collective collective : all_collectives()) {
    for (const Algorithm& row : registry(collective)) {
      if (row.kind != Kind::program) continue;
      for (const Rank ranks : {2, 5, 8}) {
        SCOPED_TRACE(std::string(to_string(collective)) + ' ' + std::string(row.name) + ", " +
                     std::to_string(ranks) + " ranks");
        const Plan plan = make_plan(row, {collective, ranks, Count{1000} * ranks}, {}, {});
        for (Rank me = 0; me < ranks; ++me) expect_the_same_again(plan, me);
      }
    }
  }
}

TEST(EngineRestart, ForgetsAFailureAndTakesOtherOptions) {
  const Plan plan = make_plan(find_algorithm(Collective::allreduce, "recursive_doubling"),
                              {Collective::allreduce, 2, 10}, {}, {});
  const ProgramExecutor executor(build_program(plan, 0));
  InstantTransport transport(executor.program().operations.size());
  const auto engine = executor.create_protocol(transport, {});
  transport.run(*engine, executor.context().plan_hash + 1);
  EXPECT_EQ(engine->status(), Status::failed);
  EXPECT_TRUE(engine->restart({.window = 1}));
  EXPECT_EQ(engine->status(), Status::running);
  EXPECT_EQ(engine->failure(), "");
  EXPECT_EQ(engine->done(), 0U);
  transport.run(*engine, executor.context().plan_hash);
  EXPECT_EQ(engine->status(), Status::done);
}

/// One that cannot says so.
class Joining final : public Protocol {
 public:
  void start() override {}
  void arrive() override {}
  void completed(const Completion&) override {}
  [[nodiscard]] Status status() const override { return Status::done; }
  [[nodiscard]] const std::string& failure() const override { return failure_; }
  [[nodiscard]] std::string waiting_for() const override { return {}; }

 private:
  std::string failure_;
};

TEST(EngineRestart, ProtocolsJoinAgainUnlessTheySayOtherwise) {
  EXPECT_FALSE(Joining().restart({}));
}

TEST(StampsMemory, TellingAgainAllocatesNothing) {
  ArrivalStamps ours(100);
  ArrivalStamps theirs(100);
  std::vector<char> data;
  const auto call = [&] {
    data.clear();
    ours.begin();
    theirs.begin();
    for (Rank rank = 0; rank < 100; ++rank) ours.arrive(rank, {1.0 * rank, 0, 0});
    ours.pack(data);
    theirs.unpack(data.data(), data.size());
  };
  call();
  const std::size_t before = allocations;
  call();
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(theirs.complete());
  EXPECT_EQ(theirs.all(), ours.all());
}

TEST(StampsMemory, PackingAppends) {
  ArrivalStamps stamps(2);
  stamps.arrive(1, {3, 0, 0});
  std::vector<char> data = {'x'};
  stamps.pack(data);
  EXPECT_EQ(data.front(), 'x');
  ArrivalStamps read(2);
  read.unpack(data.data() + 1, data.size() - 1);
  EXPECT_EQ(read.all()[1].arrival, 3);
}

}  // namespace
}  // namespace latecomer
