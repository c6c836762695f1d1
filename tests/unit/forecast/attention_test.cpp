#include "forecast/attention.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace latecomer {
namespace {

constexpr int kDepth = 32;
constexpr int kSearch = 4 * kDepth;

/// The observations that a search goes on for, and the pause after it.
int search(Attention& attention) {
  int calls = 0;
  for (; attention.searching(); ++calls) {
    EXPECT_EQ(attention.next(Surprise::none, false, true), Look::all);
  }
  return calls;
}
int pause(Attention& attention, bool may_search = true) {
  int calls = 0;
  while (calls < 100000 && attention.next(Surprise::none, false, may_search) == Look::few) ++calls;
  return calls;
}

Attention rested() {
  Attention attention(kDepth);
  EXPECT_EQ(search(attention), kSearch);
  attention.rest(false);
  return attention;
}

TEST(Attention, PausesBetweenSearchesGrow) {
  Attention attention = rested();
  for (const int searches : {1, 2, 4, 8, 16, 32, 64, 64, 64}) {
    EXPECT_EQ(pause(attention), searches * kSearch);
    EXPECT_EQ(1 + search(attention), kSearch);
    attention.rest(false);
  }
  attention.rest(true);
  EXPECT_EQ(pause(attention), kSearch);
}

TEST(Attention, ASearchOfAShortHistoryIsNotTooShort) {
  Attention attention(2);
  EXPECT_EQ(search(attention), 32);
}

TEST(Attention, ALargeSurpriseEndsAPauseEarlyButNotAtOnce) {
  Attention attention = rested();
  for (int call = 0; call < kSearch / 4; ++call) {
    EXPECT_EQ(attention.next(Surprise::large, true, true), Look::few) << call;
  }
  EXPECT_EQ(attention.next(Surprise::none, true, true), Look::all);  // it is not forgotten
  EXPECT_EQ(1 + search(attention), kSearch);
  attention.rest(false);
  EXPECT_EQ(attention.next(Surprise::some, true, true), Look::few);
  EXPECT_EQ(1 + pause(attention), 2 * kSearch);
}

TEST(Attention, ASearchThatWasSurprisedLateIsFollowedByAnotherSoon) {
  for (const int at : {10, kSearch / 2 + 1, kSearch - 1}) {
    Attention attention(kDepth);
    for (int call = 0; call < kSearch; ++call) {
      (void)attention.next(call == at ? Surprise::large : Surprise::none, false, true);
    }
    attention.rest(false);
    EXPECT_EQ(pause(attention), at < kSearch / 2 ? kSearch : kSearch / 4) << at;
  }
}

TEST(Attention, WithoutRoomNoSearchBegins) {
  Attention attention = rested();
  EXPECT_EQ(pause(attention, false), 100000);
  EXPECT_EQ(attention.next(Surprise::large, false, false), Look::few);
  EXPECT_EQ(attention.next(Surprise::none, false, true), Look::all);
}

/// The observations that are looked at, of so many that are like the others.
int looked_at(Attention& attention, int calls) {
  int looked = 0;
  for (int call = 0; call < calls; ++call) {
    looked += attention.next(Surprise::none, true, false) == Look::glance ? 0 : 1;
  }
  return looked;
}

TEST(Attention, OfCallsLikeTheOthersFewAreLookedAt) {
  Attention attention = rested();
  EXPECT_EQ(looked_at(attention, kSearch), kSearch / 4);
  looked_at(attention, 10 * kSearch);
  EXPECT_EQ(looked_at(attention, kSearch), kSearch / 8);
}

TEST(Attention, AfterASurpriseEveryCallIs) {
  for (const Surprise surprise : {Surprise::some, Surprise::large}) {
    Attention attention = rested();
    EXPECT_EQ(attention.next(surprise, true, false), Look::few);
    EXPECT_GE(looked_at(attention, 7), 7);
    EXPECT_LE(looked_at(attention, 8), 2);
  }
}

}  // namespace
}  // namespace latecomer
