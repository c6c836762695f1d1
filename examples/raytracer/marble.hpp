// Veins in a stone: noise of several sizes bends stripes.
#pragma once

#include <cstdint>

#include "random.hpp"
#include "vector.hpp"

namespace raytracer {

inline float at_corner(int x, int y, int z) {
  const auto bits = [](int number) { return static_cast<std::uint32_t>(number); };
  return part_of(mixed(bits(x) + mixed(bits(y) + mixed(bits(z)))));
}

/// Random at whole numbers, smooth between them.
inline float noise(Vector p) {
  const auto smooth = [](float t) { return t * t * (3 - 2 * t); };
  const auto between = [](float a, float b, float t) { return a + t * (b - a); };
  const float fx = std::floor(p.x), fy = std::floor(p.y), fz = std::floor(p.z);
  const int x = static_cast<int>(fx), y = static_cast<int>(fy), z = static_cast<int>(fz);
  const float u = smooth(p.x - fx), v = smooth(p.y - fy), w = smooth(p.z - fz);
  const auto row = [&](int dy, int dz) {
    return between(at_corner(x, y + dy, z + dz), at_corner(x + 1, y + dy, z + dz), u);
  };
  return between(between(row(0, 0), row(1, 0), v), between(row(0, 1), row(1, 1), v), w);
}

/// From 0 to 1.
inline float marble(Vector p) {
  float bent = 0;
  for (float scale = 1; scale < 40; scale *= 2) bent += noise((2 * scale) * p) / scale;
  return 0.5F + 0.5F * std::sin(5 * (p.x + p.y) + 6 * bent);
}

}  // namespace raytracer
