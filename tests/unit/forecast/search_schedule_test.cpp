#include "forecast/search_schedule.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace latecomer {
namespace {

constexpr int kDepth = 32;
constexpr int kSearch = 4 * kDepth;

/// The observations that a search goes on for, and the pause after it.
int search(SearchSchedule& schedule) {
  int calls = 0;
  for (; schedule.searching(); ++calls) {
    EXPECT_EQ(schedule.next(Surprise::none, false, true), Evaluation::all);
  }
  return calls;
}
int pause(SearchSchedule& schedule, bool may_search = true) {
  int calls = 0;
  while (calls < 100000 && schedule.next(Surprise::none, false, may_search) == Evaluation::few)
    ++calls;
  return calls;
}

SearchSchedule rested() {
  SearchSchedule schedule(kDepth);
  EXPECT_EQ(search(schedule), kSearch);
  schedule.finish_search(false);
  return schedule;
}

TEST(SearchSchedule, PausesBetweenSearchesGrow) {
  SearchSchedule schedule = rested();
  for (const int searches : {1, 2, 4, 8, 16, 32, 64, 64, 64}) {
    EXPECT_EQ(pause(schedule), searches * kSearch);
    EXPECT_EQ(1 + search(schedule), kSearch);
    schedule.finish_search(false);
  }
  schedule.finish_search(true);
  EXPECT_EQ(pause(schedule), kSearch);
}

TEST(SearchSchedule, ASearchOfAShortHistoryIsNotTooShort) {
  SearchSchedule schedule(2);
  EXPECT_EQ(search(schedule), 32);
}

TEST(SearchSchedule, ALargeSurpriseEndsAPauseEarlyButNotAtOnce) {
  SearchSchedule schedule = rested();
  for (int call = 0; call < kSearch / 4; ++call) {
    EXPECT_EQ(schedule.next(Surprise::large, true, true), Evaluation::few) << call;
  }
  EXPECT_EQ(schedule.next(Surprise::none, true, true), Evaluation::all);  // it is not forgotten
  EXPECT_EQ(1 + search(schedule), kSearch);
  schedule.finish_search(false);
  EXPECT_EQ(schedule.next(Surprise::some, true, true), Evaluation::few);
  EXPECT_EQ(1 + pause(schedule), 2 * kSearch);
}

TEST(SearchSchedule, ASearchThatWasSurprisedLateIsFollowedByAnotherSoon) {
  for (const int at : {10, kSearch / 2 + 1, kSearch - 1}) {
    SearchSchedule schedule(kDepth);
    for (int call = 0; call < kSearch; ++call) {
      (void)schedule.next(call == at ? Surprise::large : Surprise::none, false, true);
    }
    schedule.finish_search(false);
    EXPECT_EQ(pause(schedule), at < kSearch / 2 ? kSearch : kSearch / 4) << at;
  }
}

TEST(SearchSchedule, WithoutRoomNoSearchBegins) {
  SearchSchedule schedule = rested();
  EXPECT_EQ(pause(schedule, false), 100000);
  EXPECT_EQ(schedule.next(Surprise::large, false, false), Evaluation::few);
  EXPECT_EQ(schedule.next(Surprise::none, false, true), Evaluation::all);
}

/// The observations that are looked at, of so many that are like the others.
int looked_at(SearchSchedule& schedule, int calls) {
  int looked = 0;
  for (int call = 0; call < calls; ++call) {
    looked += schedule.next(Surprise::none, true, false) == Evaluation::forecast_only ? 0 : 1;
  }
  return looked;
}

TEST(SearchSchedule, OfCallsLikeTheOthersFewAreLookedAt) {
  SearchSchedule schedule = rested();
  EXPECT_EQ(looked_at(schedule, kSearch), kSearch / 4);
  looked_at(schedule, 10 * kSearch);
  EXPECT_EQ(looked_at(schedule, kSearch), kSearch / 8);
}

TEST(SearchSchedule, AfterASurpriseEveryCallIs) {
  for (const Surprise surprise : {Surprise::some, Surprise::large}) {
    SearchSchedule schedule = rested();
    EXPECT_EQ(schedule.next(surprise, true, false), Evaluation::few);
    EXPECT_GE(looked_at(schedule, 7), 7);
    EXPECT_LE(looked_at(schedule, 8), 2);
  }
}

}  // namespace
}  // namespace latecomer
