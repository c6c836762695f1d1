// Numbers that are the same on every machine: hashes, random draws, logarithms.
#pragma once

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

/// The natural logarithm of a positive, finite number, within 1e-10.
[[nodiscard]] double log_of(double value);
/// Its inverse, relatively within 1e-10; for powers beyond 600 that of 600, up or down.
[[nodiscard]] double exp_of(double power);

}  // namespace latecomer
