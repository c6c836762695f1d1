#include <gtest/gtest.h>

#include <cmath>

#include "base/reproducible.hpp"

namespace latecomer {
namespace {

TEST(Logarithm, IsThatOfTheStandardLibrary) {
  for (double value = 1e-9; value < 1e9; value *= 1.37) {
    EXPECT_NEAR(log_of(value), std::log(value), 1e-9);
    EXPECT_NEAR(exp_of(log_of(value)) / value, 1, 1e-9);
  }
  EXPECT_EQ(exp_of(0), 1);
  EXPECT_GT(exp_of(-1e9), 0);
  EXPECT_TRUE(std::isfinite(exp_of(1e9)));
}

}  // namespace
}  // namespace latecomer
