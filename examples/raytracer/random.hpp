// Numbers that look random and are the same on all ranks.
#pragma once

#include <cstdint>

namespace raytracer {

/// A hash of 32 bits (Wellons, "hash prospector").
inline std::uint32_t mixed(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

/// From 0 to below 1.
inline float part_of(std::uint32_t hash) { return static_cast<float>(hash >> 8) / (1 << 24); }

/// One number after the other, from `low` to below `high`.
class Random {
 public:
  explicit Random(std::uint32_t seed) : state_(mixed(seed)) {}
  float between(float low, float high) {
    state_ = mixed(state_ + 0x9e3779b9U);
    return low + (high - low) * part_of(state_);
  }

 private:
  std::uint32_t state_;
};

}  // namespace raytracer
