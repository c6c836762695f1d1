#include "forecast/call_sequence.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <vector>

#include "unit/forecast/histories.hpp"

namespace latecomer {
namespace {

using testing::base_seed;
using Keys = std::vector<CallKey>;

void add(CallSequence& sequence, std::string_view keys, int times = 1) {
  for (; times > 0; --times) {
    for (const char key : keys) sequence.add(static_cast<CallKey>(key));
  }
}

int period_of(std::string_view keys) {
  CallSequence sequence;
  add(sequence, keys);
  return sequence.period();
}

TEST(CallSequence, APeriodMustHaveBeenSeenTwice) {
  EXPECT_EQ(period_of(""), 0);
  EXPECT_EQ(period_of("A"), 0);
  EXPECT_EQ(period_of("AA"), 1);
  EXPECT_EQ(period_of("ABCAB"), 0);
  EXPECT_EQ(period_of("ABCABC"), 3);
  EXPECT_EQ(period_of("XYZABCABC"), 3);
  EXPECT_EQ(period_of("ABCABCX"), 0);
}

TEST(CallSequence, RepeatsInsideAPeriodDoNotHideIt) {
  EXPECT_EQ(period_of("AABAAB"), 3);
  EXPECT_EQ(period_of("AABAABA"), 3);
  EXPECT_EQ(period_of("AABAABAA"), 3);
}

TEST(CallSequence, SaysTheNextKeyAndItsPlace) {
  CallSequence sequence;
  add(sequence, "BCABCA");
  EXPECT_EQ(sequence.expected(), CallKey{'B'});
  EXPECT_EQ(sequence.position(), 1);  // A is the least
  add(sequence, "B");
  EXPECT_EQ(sequence.expected(), CallKey{'C'});
  EXPECT_EQ(sequence.position(), 2);
}

TEST(CallSequence, AKeyThatOccursOnceNeedsNoPosition) {
  CallSequence sequence;
  add(sequence, "ABC", 5);
  EXPECT_EQ(sequence.place('A'), HistoryKey{'A'});
  EXPECT_EQ(sequence.place('X'), HistoryKey{'X'});  // not what is expected
}

TEST(CallSequence, AKeyThatOccursTwiceHasTwoPlaces) {
  CallSequence sequence;
  add(sequence, "AAB", 3);
  EXPECT_EQ(sequence.place('A'), (HistoryKey{'A', 3, 0}));
  add(sequence, "A");
  EXPECT_EQ(sequence.place('A'), (HistoryKey{'A', 3, 1}));
  add(sequence, "A");
  EXPECT_EQ(sequence.place('A'), HistoryKey{'A'});  // B is expected
  EXPECT_EQ(sequence.place('B'), HistoryKey{'B'});
}

TEST(CallSequence, TheSameLoopHasTheSamePlacesAfterAnInterruption) {
  CallSequence sequence;
  add(sequence, "AAB", 4);
  const HistoryKey first = sequence.place('A');
  for (const std::string_view interruption : {"X", "AX", "AAXYZ", "BB"}) {
    add(sequence, interruption);
    add(sequence, "AAB", 8);
    EXPECT_EQ(sequence.place('A'), first) << interruption;
  }
}

Problem problem(Collective collective, Count bytes, Rank root = 0) {
  return {.collective = collective, .ranks = 4, .count = bytes, .element_bytes = 1, .root = root};
}

TEST(CallKey, SaysWhatMpiMakesEqualOnAllRanks) {
  std::set<CallKey> keys;
  for (const Collective collective : all_collectives()) {
    for (const Count bytes : {0, 1, 2, 1000, 1001, 1 << 30}) {
      for (const Rank root : {0, 1, 2}) {
        for (const bool commutative : {false, true}) {
          Problem one = problem(collective, bytes, root);
          one.commutative = commutative;
          Problem other = one;
          other.exact = !one.exact;
          keys.insert({call_key(one), call_key(other)});
        }
      }
    }
  }
  const std::size_t rooted_kinds = 4 * 3;
  const std::size_t others = 2;
  EXPECT_EQ(keys.size(), (rooted_kinds + others) * 6 * 4);
}

TEST(CallKey, LocalFactsAndTypesDoNotMatter) {
  Problem one = problem(Collective::reduce, 4000, 3);
  Problem other = one;
  other.in_place = true;
  other.count = 1000;
  other.element_bytes = 4;
  EXPECT_EQ(call_key(one), call_key(other));
}

CallKey class_of(Count bytes) { return class_key(problem(Collective::allreduce, bytes)); }

TEST(CallClass, ShortSizesAreToldApart) {
  std::set<CallKey> classes;
  for (Count bytes = 0; bytes < 16; ++bytes) classes.insert(class_of(bytes));
  EXPECT_EQ(classes.size(), 16u);
}

TEST(CallClass, LongerOnesFallIntoEighthsOfAnOctave) {
  EXPECT_EQ(class_of(16), class_of(17));
  EXPECT_NE(class_of(17), class_of(18));
  for (int octave = 4; octave < 62; ++octave) {
    const Count first = Count{1} << octave;
    const Count width = first / 8;
    for (Count eighth = 0; eighth < 8; ++eighth) {
      const Count min = first + eighth * width;
      EXPECT_EQ(class_of(min), class_of(min + width - 1)) << min;
      EXPECT_NE(class_of(min), class_of(min - 1)) << min;
    }
  }
}

TEST(CallClass, IsOfOneRootAndOperator) {
  const Problem one = problem(Collective::reduce, 1000, 1);
  Problem other = problem(Collective::reduce, 1000, 2);
  EXPECT_NE(class_key(one), class_key(other));
  other.root = 1;
  EXPECT_EQ(class_key(one), class_key(other));
  other.exact = true;
  EXPECT_NE(class_key(one), class_key(other));
}

bool has_period(const Keys& keys, std::size_t period) {
  for (std::size_t i = period; i < keys.size(); ++i) {
    if (keys[i] != keys[i - period]) return false;
  }
  return true;
}

/// The least `period` whose repetition the loop is.
std::size_t shortest_period(const Keys& loop) {
  Keys twice(loop);
  twice.insert(twice.end(), loop.begin(), loop.end());
  std::size_t period = 1;
  while (loop.size() % period != 0 || !has_period(twice, period)) ++period;
  return period;
}

/// Where its least rotation starts, by trying all.
std::size_t least_start(const Keys& loop) {
  std::size_t best = 0;
  Keys min(loop);
  for (std::size_t start = 1; start < loop.size(); ++start) {
    Keys rotated(loop.begin() + static_cast<std::ptrdiff_t>(start), loop.end());
    rotated.insert(rotated.end(), loop.begin(), loop.begin() + static_cast<std::ptrdiff_t>(start));
    if (rotated < min) {
      min = rotated;
      best = start;
    }
  }
  return best;
}

/// After other calls the period of a loop is found when no longer one can still hold, and it stays.
void expect_loop_found(Random& random) {
  Keys loop(1 + random.below(CallSequence::kLongestPeriod));
  const std::uint64_t letters = 1 + random.below(3);
  for (CallKey& key : loop) key = random.below(letters + 1);
  loop.resize(shortest_period(loop));
  CallSequence sequence;
  for (auto before = random.below(100); before > 0; --before)
    sequence.add(random.below(letters + 1));
  const std::size_t start = least_start(loop);
  const std::size_t found = CallSequence::kLongestPeriod + loop.size();
  for (std::size_t call = 0; call < found + 3 * loop.size(); ++call) {
    if (call >= found) {
      ASSERT_EQ(sequence.period(), static_cast<int>(loop.size())) << call;
      ASSERT_EQ(sequence.expected(), loop[call % loop.size()]);
      ASSERT_EQ(sequence.position(), static_cast<int>((call + loop.size() - start) % loop.size()));
    }
    sequence.add(loop[call % loop.size()]);
  }
}

TEST(CallSequence, FindsEveryLoopAndKeepsToIt) {
  Random random(base_seed());
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(::testing::Message() << "seed " << base_seed() << ", round " << round);
    expect_loop_found(random);
    if (HasFatalFailure()) return;
  }
}

TEST(CallSequence, TooLongALoopHasNoPeriod) {
  CallSequence sequence;
  for (int call = 0; call < 500; ++call) {
    sequence.add(static_cast<CallKey>(call % (CallSequence::kLongestPeriod + 1)));
    ASSERT_EQ(sequence.period(), 0);
  }
}

}  // namespace
}  // namespace latecomer
