#include "forecast/pattern_rows.hpp"

#include <gtest/gtest.h>

#include "forecast/pattern.hpp"
#include "unit/forecast/histories.hpp"

namespace latecomer {
namespace {

using testing::base_seed;
using Values = std::vector<float>;

Values random_values(std::size_t count, float scale, Random& random) {
  Values values(count);
  for (float& value : values) value = scale * static_cast<float>(random.uniform() - 0.5);
  return values;
}

TEST(PatternRows, KeepWhatIsWrittenToAPartOfItsImbalance) {
  Random random(base_seed());
  for (const float scale : {0.0F, 1e-30F, 1e-9F, 0.05F, 1.0F, 3e3F, 1e12F}) {
    SCOPED_TRACE(::testing::Message() << "seed " << base_seed() << ", scale " << scale);
    const Values written = random_values(37, scale, random);
    PatternRows rows(37, 3);
    rows.write(1, written);
    Values read(37);
    rows.read(1, read);
    EXPECT_LE(misplacement(read, written), imbalance(written) / 32767 + 1e-25F);
    rows.read(2, read);
    EXPECT_EQ(read, Values(37));
  }
}

TEST(PatternRows, ValuesFewStepsApartAreExact) {
  PatternRows rows(4, 1);
  const Values written = {0, 50, -14, 1};
  rows.write(0, written);
  Values read(4);
  rows.read(0, read);
  EXPECT_EQ(read, written);
  rows.add(0, read);
  EXPECT_EQ(read, (Values{0, 100, -28, 2}));
  Values two(2);
  rows.read(0, two, 1);
  EXPECT_EQ(two, (Values{50, -14}));
  rows.clear(0);
  rows.read(0, read);
  EXPECT_EQ(read, Values(4));
}

}  // namespace
}  // namespace latecomer
