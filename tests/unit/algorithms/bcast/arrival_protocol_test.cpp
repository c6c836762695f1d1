// One rank of an arrival broadcast on a transport: the messages it posts, and its words when it
// waits or fails.
#include <gtest/gtest.h>

#include <memory>

#include "algorithms/bcast/arrival/arrival.hpp"

namespace latecomer {
namespace {

using bcast::ArrivalProtocol;
using bcast::Feeding;

/// Notes the messages that are posted; nothing ever happens by itself.
class NotingTransport final : public Transport {
 public:
  struct Told {
    Rank to = -1;
    std::uint64_t word = 0;
  };

  void post(const Operation& operation, Token token, PostOptions options) override {
    EXPECT_TRUE(is_message(operation));
    auto& notes = operation.kind == OpKind::send ? sends : receives;
    notes.push_back({operation, token, options});
  }
  void send_control(Rank peer, ControlWords said) override {
    words.push_back({peer, said.front()});
  }

  std::vector<Posted> sends, receives;
  std::vector<Told> words;
};

constexpr std::uint64_t kHash = 77;

/// A rank of four, root 0, five elements in two segments.
struct Member {
  explicit Member(Rank rank, Count ahead = 0)
      : context(frame_of_rank(rank)), protocol({4, 0, 2, ahead}, context, transport) {
    protocol.start();
  }
  static RankContext frame_of_rank(Rank rank) {
    RankContext context{.plan_hash = kHash, .me = rank, .ranks = 4};
    (rank == 0 ? context.input_count : context.output_count) = 5;
    return context;
  }
  /// All that was told this one by `other`.
  void hear(Rank me, const Member& other) {
    for (const auto& [to, word] : other.transport.words) {
      if (to == me) protocol.on_control(other.context.me, {&word, 1});
    }
  }
  void receive_all() {
    for (std::size_t i = 0; i < transport.receives.size(); ++i) {
      protocol.completed({transport.receives[i].token, 0, kHash});
    }
  }
  void send_all() {
    for (std::size_t i = 0; i < transport.sends.size(); ++i) {
      protocol.completed({transport.sends[i].token, 0, 0});
    }
  }

  RankContext context;
  NotingTransport transport;
  ArrivalProtocol protocol;
};

/// The root and ranks 1 and 2, which come in this order; rank 3 stays away.
struct Call {
  Call() {
    for (Member* const member : {&root, &first, &second}) member->protocol.arrive();
    root.hear(0, first);
    root.hear(0, second);
    first.hear(1, root);
    second.hear(2, first);
  }
  Member root{0};
  Member first{1};
  Member second{2};
};

TEST(ArrivalProtocol, SendsTheInputAndReceivesTheOutputInOrder) {
  const Call call;
  ASSERT_EQ(call.root.transport.sends.size(), 2U);
  ASSERT_EQ(call.first.transport.receives.size(), 2U);
  const Slice parts[] = {{Buffer::input, 0, 3}, {Buffer::input, 3, 2}};
  for (std::size_t i = 0; i < 2; ++i) {
    const Posted& sent = call.root.transport.sends[i];
    const Posted& received = call.first.transport.receives[i];
    EXPECT_EQ(sent.operation, Operation::send(1, parts[i]));
    EXPECT_EQ(sent.options.first, i == 0);
    const Slice whole{Buffer::output, parts[i].begin, parts[i].count};
    EXPECT_EQ(received.operation, Operation::recv(0, whole));
    EXPECT_EQ(received.options.first, i == 0);
  }
}

TEST(ArrivalProtocol, HandsOnWhatItHas) {
  Call call;
  EXPECT_TRUE(call.first.transport.sends.empty());
  call.first.receive_all();
  ASSERT_EQ(call.first.transport.sends.size(), 2U);
  EXPECT_EQ(call.first.transport.sends[1].operation.peer, 2);
  EXPECT_EQ(call.first.transport.sends[1].operation.source, (Slice{Buffer::output, 3, 2}));
  call.first.send_all();
  EXPECT_EQ(call.first.protocol.status(), Status::done);
}

TEST(ArrivalProtocol, SaysWhatItWaitsFor) {
  Call call;
  EXPECT_EQ(call.root.protocol.waiting_for(), "for rank 1 to take the vector");
  EXPECT_EQ(call.second.protocol.waiting_for(), "for rank 1");
  call.first.receive_all();
  EXPECT_EQ(call.first.protocol.waiting_for(), "for rank 2 to take the vector");
  call.second.receive_all();
  EXPECT_EQ(call.second.protocol.waiting_for(), "to hear from rank 0 whether somebody follows");
  call.root.send_all();
  EXPECT_EQ(call.root.protocol.waiting_for(), "for rank 3 to arrive");
  Member alone(3);
  alone.protocol.arrive();
  EXPECT_EQ(alone.protocol.waiting_for(), "to hear from rank 0 who sends");
  EXPECT_EQ(alone.protocol.status(), Status::running);
}

/// Rank 1 was sent all before it came, but has not taken it.
TEST(ArrivalProtocol, SaysThatSegmentsAreToLeave) {
  Member root(0, 2);
  root.protocol.arrive();
  for (const Rank rank : {2, 3, 1}) {
    Member member(rank);
    member.protocol.arrive();
    root.hear(0, member);
  }
  for (const auto& [operation, token, options] : std::vector(root.transport.sends)) {
    if (operation.peer == 2) root.protocol.completed({token, 0, 0});
  }
  EXPECT_EQ(root.protocol.waiting_for(), "for segments to leave");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(root.protocol.status(), Status::running);
    root.protocol.completed({root.transport.sends[0].token, 0, 0});
  }
  EXPECT_EQ(root.protocol.status(), Status::done);
}

TEST(ArrivalProtocol, NamesTheRankThatFollowsAnotherPlan) {
  Call call;
  call.second.protocol.completed({call.second.transport.receives[0].token, 0, kHash + 1});
  EXPECT_EQ(call.second.protocol.status(), Status::failed);
  EXPECT_EQ(call.second.protocol.failure(), "rank 1 follows another plan than rank 2");
}

TEST(ArrivalProtocol, NamesTheTransportsErrorAndTheOtherRank) {
  Call call;
  call.root.protocol.completed(
      {.token = call.root.transport.sends[0].token, .error = 17, .peer = 1});
  EXPECT_EQ(call.root.protocol.status(), Status::failed);
  EXPECT_EQ(call.root.protocol.failure(),
            "a message to or from rank 1 failed with transport error 17");
  const std::size_t told = call.root.transport.words.size();
  call.root.send_all();
  EXPECT_EQ(call.root.transport.words.size(), told);  // it is out of the call
}

}  // namespace
}  // namespace latecomer
