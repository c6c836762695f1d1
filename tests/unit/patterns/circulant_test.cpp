// The broadcast on a circulant graph, played round by round.
#include "patterns/circulant.hpp"

#include <gtest/gtest.h>

#include "patterns/powers.hpp"

namespace latecomer {
namespace {

/// The blocks that each place has.
class Holdings {
 public:
  Holdings(Rank places, Count blocks)
      : has_(static_cast<std::size_t>(places),
             std::vector<bool>(static_cast<std::size_t>(blocks), false)) {
    has_[0].assign(has_[0].size(), true);
  }

  [[nodiscard]] bool has(Rank place, Count block) const {
    return has_[static_cast<std::size_t>(place)][static_cast<std::size_t>(block)];
  }
  void take(Rank place, Count block) {
    has_[static_cast<std::size_t>(place)][static_cast<std::size_t>(block)] = true;
  }
  [[nodiscard]] bool complete() const {
    for (const auto& blocks : has_) {
      for (const bool each : blocks) {
        if (!each) return false;
      }
    }
    return true;
  }

 private:
  std::vector<std::vector<bool>> has_;
};

std::vector<CirculantPlace> all_places(Rank places, Count blocks) {
  std::vector<CirculantPlace> all;
  for (Rank place = 0; place < places; ++place) all.emplace_back(places, blocks, place);
  return all;
}

constexpr auto kBlocks = {1, 2, 3, 7, 12, 31};

/// Calls check(places, blocks) for many broadcasts.
template <class Check>
void for_broadcasts(Check&& check) {
  for (Rank places = 2; places <= 130; ++places) {
    for (const Count blocks : kBlocks) {
      SCOPED_TRACE(std::to_string(places) + " places, " + std::to_string(blocks) + " blocks");
      check(places, blocks);
    }
  }
}

TEST(Circulant, PlacesAgreeAboutWhatTheySend) {
  for_broadcasts([](Rank places, Count blocks) {
    const auto all = all_places(places, blocks);
    for (Count round = 0; round < all[0].rounds(); ++round) {
      for (const CirculantPlace& each : all) {
        const CirculantPlace& next = all[static_cast<std::size_t>(each.to(round))];
        ASSERT_EQ(&all[static_cast<std::size_t>(next.from(round))], &each);
        ASSERT_EQ(each.sends(round), next.receives(round));
      }
    }
  });
}

/// Each block once, sent by places that have it.
TEST(Circulant, AllPlacesReceiveAllBlocksInAsFewRoundsAsThereCanBe) {
  for_broadcasts([](Rank places, Count blocks) {
    const auto all = all_places(places, blocks);
    Holdings now(places, blocks);
    EXPECT_EQ(all[0].rounds(), blocks - 1 + ceil_log2(places));
    for (Count round = 0; round < all[0].rounds(); ++round) {
      Holdings then = now;
      for (Rank place = 1; place < places; ++place) {
        const CirculantPlace& each = all[static_cast<std::size_t>(place)];
        const Count block = each.receives(round);
        if (block == CirculantPlace::kNone) continue;
        ASSERT_TRUE(now.has(each.from(round), block));
        ASSERT_FALSE(now.has(place, block));
        then.take(place, block);
      }
      now = then;
    }
    EXPECT_TRUE(now.complete());
  });
}

TEST(Circulant, Place0SendsANewBlockInEachRoundAndThenTheLastOne) {
  for_broadcasts([](Rank places, Count blocks) {
    const CirculantPlace first(places, blocks, 0);
    for (Count round = 0; round < first.rounds(); ++round) {
      EXPECT_EQ(first.sends(round), std::min(round, blocks - 1));
      EXPECT_EQ(first.receives(round), CirculantPlace::kNone);
    }
  });
}

TEST(Circulant, Place0GetsBackAllBlocksButTheLast) {
  for_broadcasts([](Rank places, Count blocks) {
    const auto all = all_places(places, blocks);
    Holdings now(places, blocks);
    std::vector<int> back(static_cast<std::size_t>(blocks), 0);
    for (Count round = 0; round < all[0].rounds(); ++round) {
      const Count returned = all[0].returns(round);
      if (returned != CirculantPlace::kNone) {
        const Rank from = all[0].from(round);
        EXPECT_EQ(all[static_cast<std::size_t>(from)].to(round), 0);
        EXPECT_TRUE(now.has(from, returned));
        ++back[static_cast<std::size_t>(returned)];
      }
      for (Rank place = 1; place < places; ++place) {
        const Count block = all[static_cast<std::size_t>(place)].receives(round);
        if (block != CirculantPlace::kNone) now.take(place, block);
      }
    }
    for (Count block = 0; block < blocks; ++block) {
      EXPECT_EQ(back[static_cast<std::size_t>(block)], block < blocks - 1 ? 1 : 0);
    }
  });
}

/// A few of very many places, against their neighbours.
TEST(Circulant, FewPlacesOfAMillionAgree) {
  for (const Rank places : {Rank{1} << 20, (Rank{1} << 20) - 1, 1234567}) {
    for (Rank place = 1; place < places; place += places / 97) {
      const CirculantPlace each(places, 50, place);
      for (Count round = 0; round < each.rounds(); ++round) {
        const CirculantPlace next(places, 50, each.to(round));
        ASSERT_EQ(each.sends(round), next.receives(round));
      }
    }
  }
}

}  // namespace
}  // namespace latecomer
