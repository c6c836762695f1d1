#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/parse.hpp"

namespace latecomer {
namespace {

TEST(Factors, CodesReadBack) {
  for (const std::vector<Count>& factors :
       {std::vector<Count>{2}, {3, 2, 2}, {4093}, {2, 3, 5, 7}, std::vector<Count>(12, 2)}) {
    const Count code = encode_factors(factors);
    EXPECT_GE(code, kFirstFactors);
    EXPECT_EQ(decode_factors(code), factors);
    EXPECT_EQ(parse_factors("group", factors_text(factors)), factors);
  }
}

TEST(Factors, WhatDoesNotFitIsRefused) {
  EXPECT_THROW((void)encode_factors({1}), Error);
  EXPECT_THROW((void)encode_factors(std::vector<Count>(21, 2)), Error);
  EXPECT_THROW((void)decode_factors(0), Error);
  EXPECT_THROW((void)decode_factors(0b11111), Error);  // a factor of 1
  EXPECT_THROW((void)decode_factors(0b1001), Error);   // a factor cut short
  EXPECT_THROW((void)parse_factors("group", "3x"), Error);
}

}  // namespace
}  // namespace latecomer
