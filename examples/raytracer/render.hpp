// Draws one slab of depth: an image that is clear where there is nothing.
#pragma once

#include <cstdint>

#include "pixel.hpp"
#include "scene.hpp"

namespace raytracer {

struct Size {
  int width;
  int height;
  [[nodiscard]] int pixels() const { return width * height; }
};

/// Flies along the view axis, swaying.
[[nodiscard]] Vector eye_at(int frame);

/// Which part of the depth a rank draws.
struct Part {
  int rank;
  int ranks;
};

/// All parts of an image, composited front to back, give the image that one rank alone draws.
void render(const std::vector<Sphere>& scene, Vector eye, Part part, Size size, Image& image);

}  // namespace raytracer
