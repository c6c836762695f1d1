// The driver of a node in a protocol among nodes: what it posts, and when.
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"

namespace latecomer {
namespace {

/// Notes what is posted; nothing ever happens by itself.
class DriverNotes final : public Transport {
 public:
  void post(const Operation& operation, Token token, PostOptions options) override {
    posted.push_back({operation, token, options});
  }
  void send_control(Rank peer, ControlWords /*words*/) override { told.push_back(peer); }

  [[nodiscard]] std::vector<Posted> all(OpKind kind) const {
    std::vector<Posted> found;
    std::ranges::copy_if(posted, std::back_inserter(found),
                         [&](const Posted& each) { return each.operation.kind == kind; });
    return found;
  }

  std::vector<Posted> posted;
  std::vector<Rank> told;
};

/// Rank 0 drives the first of two nodes of two ranks, and orders arrivals. The vector has two
/// blocks and two pieces.
struct DriverOfFour {
  explicit DriverOfFour(Count progress = 0) {
    Knowledge knowledge;
    knowledge.placement = {0, 0, 1, 1};
    plan = make_plan(find_algorithm(Collective::allreduce, "online_nodes"),
                     {Collective::allreduce, 4, 2000},
                     {{"blocks", 2}, {"pieces", 2}, {"progress", progress}}, knowledge);
    executor = make_executor(plan, 0, 0);
    protocol = executor->create_protocol(notes, {});
    protocol->start();
  }
  void complete(Token token, int error = 0) { protocol->completed({token, error, hash(plan)}); }
  /// The first or second piece of the node's sum is there.
  void sum(std::size_t piece) { complete(notes.all(OpKind::await).at(piece).token); }
  /// The driver of the other node says that it is here.
  void other_arrives() { protocol->on_control(2, std::vector<std::uint64_t>{0}); }

  DriverNotes notes;
  Plan plan;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Protocol> protocol;
};

TEST(Driver, BeginsWithItsRankAndHearsOfOthersBeforeItsNodeIsComplete) {
  DriverOfFour call;
  EXPECT_TRUE(call.notes.posted.empty());
  call.protocol->arrive();
  EXPECT_EQ(call.notes.all(OpKind::await).size(), 2U);
  EXPECT_EQ(call.notes.all(OpKind::accumulate).size(), 1U);  // one at a time
  EXPECT_TRUE(call.notes.told.empty());
  call.other_arrives();
  EXPECT_EQ(call.notes.told, std::vector<Rank>{2});
  EXPECT_TRUE(call.notes.all(OpKind::send).empty());
}

TEST(Driver, HearsOfOthersBeforeItsRankArrivesIfItHasAThread) {
  DriverOfFour with_thread(1);
  with_thread.other_arrives();
  EXPECT_EQ(with_thread.notes.told, std::vector<Rank>{2});
  DriverOfFour without;
  without.other_arrives();
  EXPECT_TRUE(without.notes.told.empty());
  without.protocol->arrive();
  EXPECT_EQ(without.notes.told, std::vector<Rank>{2});
}

/// The first node owns the first block, and sends the second one: not before its sum is there.
TEST(Driver, OperationsWaitForTheirPartOfTheSum) {
  DriverOfFour call;
  call.protocol->arrive();
  call.sum(0);
  call.other_arrives();
  EXPECT_TRUE(call.notes.all(OpKind::send).empty());
  ASSERT_EQ(call.notes.all(OpKind::recv).size(), 1U);
  const Operation received = call.notes.all(OpKind::recv).front().operation;
  EXPECT_EQ(received.peer, 2);
  EXPECT_EQ(received.target.buffer, Buffer::scratch);
  call.sum(1);
  ASSERT_EQ(call.notes.all(OpKind::send).size(), 1U);
  const Operation sent = call.notes.all(OpKind::send).front().operation;
  EXPECT_EQ(sent.peer, 2);
  EXPECT_EQ(sent.source, (Slice{Buffer::node, 1000, 1000}));
}

/// Local work that other nodes wait for goes before the next of the driver's own.
TEST(Driver, WorkForOtherNodesComesFirstAndResultsAreSignalled) {
  DriverOfFour call;
  call.protocol->arrive();
  for (const std::size_t piece : {0, 1}) call.sum(piece);
  call.other_arrives();
  call.complete(call.notes.all(OpKind::recv).front().token);
  EXPECT_TRUE(call.notes.all(OpKind::combine).empty());
  call.complete(call.notes.all(OpKind::accumulate).front().token);
  ASSERT_EQ(call.notes.all(OpKind::combine).size(), 1U);
  EXPECT_EQ(call.notes.all(OpKind::accumulate).size(), 1U);
  EXPECT_EQ(call.notes.all(OpKind::combine).front().operation.target,
            (Slice{Buffer::node, 0, 1000}));
  EXPECT_TRUE(call.notes.all(OpKind::signal).empty());
  call.complete(call.notes.all(OpKind::combine).front().token);
  EXPECT_EQ(call.notes.all(OpKind::accumulate).size(), 2U);
  call.complete(call.notes.all(OpKind::send).front().token);  // the next one has the result
  ASSERT_EQ(call.notes.all(OpKind::signal).size(), 1U);
  EXPECT_EQ(call.notes.all(OpKind::signal).front().operation.source,
            (Slice{Buffer::node, 0, 1000}));
}

TEST(Driver, SaysWhatItWaitsFor) {
  DriverOfFour call;
  call.protocol->arrive();
  EXPECT_EQ(call.protocol->waiting_for(),
            "for the sum of its node, of which 0 of 2 parts are there");
  for (const std::size_t piece : {0, 1}) call.sum(piece);
  EXPECT_EQ(call.protocol->waiting_for(), "for the arrival of node 1");
}

TEST(Driver, FailuresNameTheOtherNode) {
  const auto begun = [] {
    auto call = std::make_unique<DriverOfFour>();
    call->protocol->arrive();
    call->sum(0);
    call->other_arrives();
    return call;
  };
  auto call = begun();
  call->protocol->completed({call->notes.all(OpKind::recv).front().token, 0, 5});
  EXPECT_EQ(call->protocol->failure(), "node 1 follows another plan than node 0");
  call = begun();
  call->other_arrives();
  EXPECT_EQ(call->protocol->failure(),
            "node 1 sent a control message that does not fit the plan of node 0");
  call = begun();
  call->complete(call->notes.all(OpKind::recv).front().token, 9);
  EXPECT_EQ(call->protocol->status(), Status::failed);
  call = begun();
  call->protocol->completed({.stranger = 1});
  EXPECT_EQ(call->protocol->failure(), "rank 1 follows another plan than rank 0");
}

}  // namespace
}  // namespace latecomer
