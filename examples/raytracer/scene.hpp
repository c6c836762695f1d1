// The scene: spheres on a floor, and those of them that a rank needs for its slab of depth.
#pragma once

#include <cstdint>
#include <vector>

#include "vector.hpp"

namespace raytracer {

enum class Surface { plain, marble, glass };

struct Sphere {
  Vector centre;
  float radius = 0;
  Vector colour;
  Surface surface = Surface::plain;
};

/// From `begin` to before `end` along the view axis, z.
struct Slab {
  float begin;
  float end;
  [[nodiscard]] bool holds(float z) const { return begin <= z && z < end; }
};

/// The direction of the sun, and the spread of its light around it.
inline const Vector kSun = unit({-0.55F, 0.75F, -0.36F});
constexpr float kSunSpread = 0.05F;

/// Spheres are scattered thinly, but for a ball of many: whose slab that is in has most to do.
[[nodiscard]] std::vector<Sphere> make_scene(std::uint32_t seed);

/// The slab of one of so many ranks, front to back, seen from depth `eye`. The first one and the
/// last one have no end on the outside.
[[nodiscard]] Slab slab_of(int rank, int ranks, float eye);

/// The spheres that reach into the slab.
[[nodiscard]] std::vector<Sphere> inside(const std::vector<Sphere>& scene, Slab slab);
/// The spheres that may cast a shadow into it.
[[nodiscard]] std::vector<Sphere> shading(const std::vector<Sphere>& scene, Slab slab);

}  // namespace raytracer
