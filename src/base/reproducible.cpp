#include "base/reproducible.hpp"

#include <algorithm>
#include <cmath>

namespace latecomer {
namespace {

constexpr double kLog2 = 0.693147180559945309;

}  // namespace

double log_of(double value) {
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent);
  if (mantissa < 0.70710678) {
    mantissa *= 2;
    --exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double sum = 0;
  for (int power = 13; power > 0; power -= 2) sum = 1.0 / power + square * sum;
  return exponent * kLog2 + 2 * s * sum;
}

double exp_of(double power) {
  const double bounded = std::clamp(power, -600.0, 600.0);
  const double twos = std::floor(bounded / kLog2 + 0.5);
  const double rest = bounded - twos * kLog2;
  double sum = 1;
  for (int term = 11; term > 0; --term) sum = 1 + rest / term * sum;
  return std::ldexp(sum, static_cast<int>(twos));
}

}  // namespace latecomer
