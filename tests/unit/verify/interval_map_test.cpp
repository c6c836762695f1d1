#include "verify/interval_map.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/reproducible.hpp"

namespace latecomer::verifier {
namespace {

constexpr Count kSize = 40;
constexpr int kNone = 0;

Range random_range(Random& random) {
  const auto begin = static_cast<Count>(random.below(kSize));
  return {begin, static_cast<Count>(random.below(static_cast<std::uint64_t>(kSize - begin + 1)))};
}

/// The values of [0, kSize), one by one.
std::vector<int> elements(const IntervalMap<int>& map) {
  std::vector<int> result;
  map.visit({0, kSize}, [&](Range range, const int* value) {
    EXPECT_EQ(range.begin, static_cast<Count>(result.size()));
    result.insert(result.end(), static_cast<std::size_t>(range.count), value ? *value : kNone);
  });
  return result;
}

TEST(IntervalMap, AgreesWithAnArray) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    IntervalMap<int> map;
    std::vector<int> array(kSize, kNone);
    for (int step = 0; step < 20; ++step) {
      const Range range = random_range(random);
      const int value = 1 + static_cast<int>(random.below(3));
      const bool assign = random.below(2) == 0;
      if (assign) map.assign(range, value);
      if (!assign) map.update(range, [&](Range, int& old) { old += value; });
      for (Count i = range.begin; i < range.end(); ++i) {
        array[static_cast<std::size_t>(i)] =
            assign ? value : array[static_cast<std::size_t>(i)] + value;
      }
      ASSERT_EQ(elements(map), array);
    }
  }
}

TEST(IntervalMap, NeighboursWithEqualValuesAreOneEntry) {
  IntervalMap<int> map;
  map.assign({0, 4}, 1);
  map.assign({8, 4}, 1);
  map.assign({4, 4}, 1);
  int entries = 0;
  map.visit({0, 12}, [&](Range, const int*) { ++entries; });
  EXPECT_EQ(entries, 1);
}

}  // namespace
}  // namespace latecomer::verifier
