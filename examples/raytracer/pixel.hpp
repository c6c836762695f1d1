// A pixel, and the operator that puts one in front of another.
#pragma once

#include <vector>

#include "vector.hpp"

namespace raytracer {

/// Colours are multiplied by alpha, the part of the background that the pixel hides.
struct Pixel {
  float red = 0;
  float green = 0;
  float blue = 0;
  float alpha = 0;
};

using Image = std::vector<Pixel>;  // row by row, from the top

inline Pixel shown(Vector colour, float alpha) {
  return {alpha * colour.x, alpha * colour.y, alpha * colour.z, alpha};
}

/// Porter and Duff, Compositing digital images, 1984. Associative (but for rounding), and it does
/// not commute.
inline Pixel over(Pixel front, Pixel back) {
  const float through = 1 - front.alpha;
  return {front.red + through * back.red, front.green + through * back.green,
          front.blue + through * back.blue, front.alpha + through * back.alpha};
}

}  // namespace raytracer
