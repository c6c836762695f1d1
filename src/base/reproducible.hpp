// Numbers that are the same on every machine: hashes, random draws, logarithms.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

namespace latecomer {

// FNV-1a: stable over platforms and releases, so that ranks can compare hashes of the same text.

[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}
/// The same of numbers, by their bytes.
template <class Number, std::size_t count>
[[nodiscard]] std::uint64_t fnv1a(std::span<Number, count> numbers) {
  return fnv1a({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
}

// A small seeded generator whose draws are the same on every platform (the standard
// distributions are not), so that a seed printed by a test or a benchmark repeats it anywhere.

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// Uniform in [0, bound), bound > 0.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

// Logarithms by basic arithmetic alone: the same bits on all processors of one kind of
// instructions, whatever their mathematical libraries choose.

inline constexpr double kLogOfTwo = 0.693147180559945309;

/// The natural logarithm of a positive, finite number, within 1e-10.
[[nodiscard]] inline double log_of(double value) {
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
  return exponent * kLogOfTwo + 2 * s * sum;
}

/// Its inverse, relatively within 1e-10; for powers beyond 600 that of 600, up or down.
[[nodiscard]] inline double exp_of(double power) {
  const double bounded = std::clamp(power, -600.0, 600.0);
  const double twos = std::floor(bounded / kLogOfTwo + 0.5);
  const double rest = bounded - twos * kLogOfTwo;
  double sum = 1;
  for (int term = 11; term > 0; --term) sum = 1 + rest / term * sum;
  return std::ldexp(sum, static_cast<int>(twos));
}

}  // namespace latecomer
