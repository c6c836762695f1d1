// One rank of online owners on a transport: the messages it posts, and its words when it waits or
// fails.
#include "algorithms/owners/online_protocol.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/reproducible.hpp"

namespace latecomer::owners {
namespace {

using Words = std::vector<std::uint64_t>;

/// Notes what is posted; nothing ever happens by itself.
class OnlineNotes final : public Transport {
 public:
  struct Told {
    Rank to = -1;
    Words words;
  };

  void post(const Operation& operation, Token token, PostOptions options) override {
    auto& notes = operation.kind == OpKind::send      ? sends
                  : operation.kind == OpKind::recv    ? receives
                  : operation.kind == OpKind::combine ? combined
                                                      : copies;
    notes.push_back({operation, token, options});
    EXPECT_EQ(operation.into, Into::right);
  }
  void send_control(Rank peer, ControlWords words) override {
    told.push_back({peer, Words(words.begin(), words.end())});
  }

  static constexpr std::uint64_t kHash = 77;
  std::vector<Posted> sends, receives, combined, copies;
  std::vector<Told> told;
};

/// A rank of three with six elements in three blocks; rank 0 coordinates, and the others are its
/// children one below the other.
struct OnlineMember {
  explicit OnlineMember(Rank rank, Progress progress = Progress::foreground, Rank ranks = 3,
                        bool in_place = false)
      : context{.plan_hash = OnlineNotes::kHash,
                .me = rank,
                .ranks = ranks,
                .input_count = in_place ? 0 : 6,
                .output_count = 6,
                .in_place = in_place,
                .progress = progress},
        layout{{{0, 2}, {2, 2}, {4, 2}}, 2},
        protocol({ranks, 3, 0, 4, 1, 1}, layout, context, notes) {
    protocol.start();
  }
  /// All that `other` told this one since the last time.
  void hear(OnlineMember& other) {
    for (auto& [to, words] : other.notes.told) {
      if (to == context.me) protocol.on_control(other.context.me, words), to = -1;
    }
  }
  void complete(Token token, int error = 0, std::uint64_t hash = OnlineNotes::kHash) {
    protocol.completed({token, error, hash});
  }
  [[nodiscard]] const std::string& failure() const { return protocol.failure(); }

  RankContext context;
  owners::BlockLayout layout;
  OnlineNotes notes;
  OnlineProtocol protocol;
};

/// Ranks 0 and 1 are there, and have heard so.
struct OnlineThree {
  OnlineThree() {
    first.protocol.arrive();
    second.protocol.arrive();
    first.hear(second);
    second.hear(first);
    // Alone, the first rank had nothing to send up to the horizon.
  }
  OnlineMember first{0};
  OnlineMember second{1};
  OnlineMember third{2};
};

TEST(OnlineProtocol, SendsContributionsFromTheInputAndCombinesInTheOutput) {
  OnlineThree call;
  ASSERT_FALSE(call.second.notes.sends.empty());
  const auto& [sent, number, how_sent] = call.second.notes.sends.front();
  EXPECT_EQ(sent, Operation::send(0, {Buffer::input, 0, 2}));
  EXPECT_TRUE(how_sent.first && how_sent.paced && !how_sent.piggybacks);
  ASSERT_EQ(call.first.notes.receives.size(), 1U);
  const auto& [received, token, how_received] = call.first.notes.receives.front();
  EXPECT_EQ(received, Operation::recv(1, {Buffer::output, 0, 2}));
  EXPECT_TRUE(how_received.first && how_received.paced);
  call.first.complete(token);
  ASSERT_EQ(call.first.notes.combined.size(), 1U);
  EXPECT_EQ(call.first.notes.combined.front().operation,
            Operation::combine({Buffer::input, 0, 2}, {Buffer::output, 0, 2}, Into::right));
}

TEST(OnlineProtocol, InPlaceEveryContributionHasALanding) {
  OnlineMember first(0, Progress::foreground, 3, true);
  OnlineMember second(1, Progress::foreground, 3, true);
  first.protocol.arrive();
  second.protocol.arrive();
  first.hear(second);
  second.hear(first);
  ASSERT_FALSE(first.notes.receives.empty());
  EXPECT_EQ(first.notes.receives.front().operation.target, (Slice{Buffer::scratch, 0, 2}));
  ASSERT_FALSE(second.notes.sends.empty());
  EXPECT_EQ(second.notes.sends.front().operation.source, (Slice{Buffer::output, 0, 2}));
}

TEST(OnlineProtocol, OneRankAloneCopies) {
  OnlineMember alone(0, Progress::foreground, 1);
  alone.protocol.arrive();
  ASSERT_EQ(alone.notes.copies.size(), 1U);
  EXPECT_EQ(alone.protocol.status(), Status::running);
  EXPECT_EQ(alone.notes.copies.front().operation.target.buffer, Buffer::output);
  alone.complete(alone.notes.copies.front().token);
  EXPECT_EQ(alone.protocol.status(), Status::done);
  OnlineMember in_place(0, Progress::foreground, 1, true);
  in_place.protocol.arrive();
  EXPECT_EQ(in_place.protocol.status(), Status::done);
}

/// Only with a progress thread does the coordinator order arrivals before its own.
TEST(OnlineProtocol, WithoutAThreadNothingIsHeardBeforeTheArrival) {
  for (const Progress progress : {Progress::foreground, Progress::background}) {
    OnlineMember first(0, progress);
    OnlineMember second(1, progress);
    second.protocol.arrive();
    first.hear(second);
    EXPECT_EQ(first.notes.told.empty(), progress == Progress::foreground);
    EXPECT_TRUE(first.notes.sends.empty() && first.notes.receives.empty());
    first.protocol.arrive();
    EXPECT_FALSE(first.notes.told.empty());
    EXPECT_EQ(first.failure(), "");
  }
}

TEST(OnlineProtocol, SaysWhatItWaitsFor) {
  OnlineThree call;
  EXPECT_EQ(call.third.protocol.waiting_for(), "for rank 0, which orders arrivals");
  EXPECT_EQ(call.first.protocol.waiting_for(),
            "to send to rank 1, to receive from rank 1, for the arrival of rank 2");
  call.first.complete(call.first.notes.sends.front().token);
  call.second.complete(call.second.notes.sends.front().token);
  call.third.protocol.arrive();
  EXPECT_EQ(call.third.protocol.waiting_for(), "for rank 0, which orders arrivals");
  OnlineMember alone(0);
  alone.protocol.arrive();
  EXPECT_EQ(alone.protocol.waiting_for(), "for the arrival of rank 1, for the arrival of rank 2");
}

TEST(OnlineProtocol, NamesTheRankThatFollowsAnotherPlan) {
  OnlineThree call;
  call.first.complete(call.first.notes.receives.front().token, 0, OnlineNotes::kHash + 1);
  EXPECT_EQ(call.first.protocol.status(), Status::failed);
  EXPECT_EQ(call.first.failure(), "rank 1 follows another plan than rank 0");
}

TEST(OnlineProtocol, NamesTheTransportsError) {
  OnlineThree call;
  const Token token = call.first.notes.sends.front().token;
  call.first.complete(token, 17);
  EXPECT_EQ(call.first.protocol.status(), Status::failed);
  EXPECT_EQ(call.first.failure(), "a message or local work failed with transport error 17");
  const std::size_t posted = call.first.notes.sends.size();
  call.first.complete(token);  // it is out of the call
  call.first.hear(call.third);
  EXPECT_EQ(call.first.notes.sends.size(), posted);
}

// Words as they are sent: the round in the upper bits, kind or rank in the lower ones.

constexpr std::uint64_t kHere = 0;
constexpr std::uint64_t kOver = 1;
constexpr std::uint64_t kUpdate = 2;

std::uint64_t word(std::uint64_t lower, std::uint64_t round) { return round << 28U | lower; }

void expect_refused(OnlineMember& member, Rank from, const Words& words) {
  SCOPED_TRACE("from " + std::to_string(from) + ", " + std::to_string(words.size()) + " words");
  member.protocol.on_control(from, words);
  EXPECT_EQ(member.protocol.status(), Status::failed);
  EXPECT_EQ(member.failure(), "rank " + std::to_string(from) +
                                  " sent a control message that does not fit the plan of rank " +
                                  std::to_string(member.context.me));
}

TEST(OnlineProtocol, TheCoordinatorRefusesWhatNoRankCanHaveSent) {
  const std::vector<std::pair<Rank, Words>> wrong = {
      {2, {}},
      {2, {3}},                           // no kind
      {2, {256}},                         // no kind, and `here` in its last bits
      {2, {word(kHere, 1)}},              // with a round
      {2, {kHere, word(2, 0)}},           // with an entry
      {1, {kHere}},                       // again
      {2, {word(kOver, 1)}},              // of a rank that is not in the log
      {1, {word(kOver, 0)}},              // of no round
      {1, {word(kOver, 9)}},              // beyond the horizon
      {1, {word(kOver, 1), word(1, 0)}},  // with an entry
      {1, {word(kUpdate, 5)}},            // the coordinator writes the log
      {-1, {kHere}},                      // of no rank
      {3, {kHere}},
      {0, {kHere}}};
  for (const auto& [from, words] : wrong) {
    OnlineThree call;
    expect_refused(call.first, from, words);
  }
  OnlineThree call;
  call.first.protocol.on_control(2, Words{kHere});
  EXPECT_EQ(call.first.failure(), "");
}

TEST(OnlineProtocol, ARankThatIsNewRefusesALogThatCannotBe) {
  constexpr std::uint64_t kMuch = (std::uint64_t{1} << 36U) - 1;
  const std::uint64_t first = word(0, 0);
  const std::vector<Words> wrong = {
      {kHere},
      {word(kOver, 1)},
      {word(kUpdate, 4)},                                 // without the log
      {word(kUpdate, 4), first},                          // without this rank
      {word(kUpdate, 4), first, word(3, 0), word(1, 0)},  // of a rank that there is not
      {word(kUpdate, 4), first, word((1U << 28U) - 1, 0), word(1, 0)},
      {word(kUpdate, 4), first, word(1, 0), first},       // twice
      {word(kUpdate, 4), first, word(1, 0), word(1, 0)},  // twice this rank
      {word(kUpdate, 4), word(0, 2), word(1, 1)},         // rounds fall
      {word(kUpdate, 4), first, word(1, 0), word(2, 1)},  // later than this one, and at once
      {word(kUpdate, 4), first, word(1, 4)},              // at the horizon
      {word(kUpdate, kMuch), first, word(1, 0)},          // too far ahead
      {word(kUpdate, 4), word(1, 0)},                     // not from the coordinator's child
  };
  for (const Words& words : wrong) {
    OnlineMember second(1);
    second.protocol.arrive();
    const Rank from = words.size() == 2 && words[1] == word(1, 0) ? 2 : 0;
    expect_refused(second, from, words);
  }
  OnlineMember second(1);
  second.protocol.arrive();
  second.protocol.on_control(0, Words{word(kUpdate, 4), first, word(1, 0)});
  EXPECT_EQ(second.failure(), "");
  EXPECT_FALSE(second.notes.sends.empty());
}

TEST(OnlineProtocol, ARankOfTheLogRefusesAnUpdateThatCannotBe) {
  const std::vector<std::pair<Rank, Words>> wrong = {
      {2, {word(kUpdate, 5)}},              // not its parent
      {0, {word(kUpdate, 4)}},              // the horizon stays
      {0, {word(kUpdate, 9)}},              // too far ahead
      {0, {word(kUpdate, 5), word(2, 3)}},  // before the horizon
      {0, {word(kUpdate, 6), word(2, 5)}},  // after it
      {0, {word(kUpdate, 6), word(0, 4)}},  // again
      {0, {word(kUpdate, 6), word(2, 4), word(2, 4)}},
      {2, {kHere}},            // to the coordinator only
      {0, {word(kOver, 1)}},   // its parent
      {2, {word(kOver, 1)}}};  // not in the log
  for (const auto& [from, words] : wrong) {
    OnlineMember second(1);
    second.protocol.arrive();
    second.protocol.on_control(0, Words{word(kUpdate, 4), word(0, 0), word(1, 0)});
    ASSERT_EQ(second.failure(), "");
    expect_refused(second, from, words);
  }
}

TEST(OnlineProtocol, ARankThatIsAbsentRefusesALog) {
  OnlineMember second(1, Progress::background);
  expect_refused(second, 0, {word(kUpdate, 4), word(0, 0), word(1, 0)});
}

/// Whatever comes, a rank goes on or fails by name.
TEST(OnlineProtocol, SurvivesAnyWords) {
  Random random(12);
  const auto number = [&]() -> std::uint64_t {
    constexpr std::uint64_t kOdd[] = {0, 1, 2, 3, 4, 5, 1U << 27U, (1U << 28U) - 1};
    return random.below(8) == 0 ? random.next() : kOdd[random.below(std::size(kOdd))];
  };
  for (int i = 0; i < 20000; ++i) {
    const auto progress = random.below(2) == 0 ? Progress::foreground : Progress::background;
    OnlineMember member(static_cast<Rank>(random.below(3)), progress);
    const int arrival = static_cast<int>(random.below(6));
    for (int event = 0; event < 6; ++event) {
      if (event == arrival) member.protocol.arrive();
      Words words(random.below(4));
      for (std::uint64_t& each : words) each = word(number() % (1U << 28U), number());
      member.protocol.on_control(static_cast<Rank>(random.below(3)), words);
    }
    EXPECT_NE(member.protocol.status(), Status::done);
    EXPECT_FALSE(member.protocol.waiting_for().empty());
  }
}

}  // namespace
}  // namespace latecomer::owners
