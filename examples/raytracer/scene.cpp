#include "scene.hpp"

#include <algorithm>
#include <limits>

#include "random.hpp"

namespace raytracer {
namespace {

constexpr float kDepth = 40;  // of all slabs together
constexpr int kScattered = 70;
constexpr int kInBall = 170;
constexpr Vector kBall{0.5F, 2.7F, 21};
constexpr float kBallRadius = 2.3F;

Vector bright(Random& random) {
  return {random.between(0.15F, 1), random.between(0.15F, 1), random.between(0.15F, 1)};
}

/// On the floor, left and right of the way.
Sphere scattered(Random& random) {
  Sphere sphere;
  sphere.radius = random.between(0.25F, 0.8F);
  const float side = random.between(-1, 1) < 0 ? -1 : 1;
  sphere.centre = {side * random.between(1.2F, 9), sphere.radius, random.between(3, 55)};
  sphere.colour = bright(random);
  const float kind = random.between(0, 1);
  sphere.surface = kind < 0.3F ? Surface::glass : kind < 0.6F ? Surface::marble : Surface::plain;
  return sphere;
}

/// Evenly on the ball: a spiral by the golden angle.
Sphere on_ball(int number, Random& random) {
  const float y = 1 - (2 * static_cast<float>(number) + 1) / kInBall;
  const float angle = 2.3999632F * static_cast<float>(number);
  const float round = std::sqrt(1 - y * y);
  const Vector out{round * std::cos(angle), y, round * std::sin(angle)};
  const Vector colour = mix({0.95F, 0.45F, 0.15F}, {0.95F, 0.9F, 0.75F}, random.between(0, 1));
  return {kBall + kBallRadius * out, 0.23F, colour, Surface::marble};
}

}  // namespace

std::vector<Sphere> make_scene(std::uint32_t seed) {
  Random random(seed);
  std::vector<Sphere> scene;
  for (int i = 0; i < kScattered; ++i) scene.push_back(scattered(random));
  for (int i = 0; i < kInBall; ++i) scene.push_back(on_ball(i, random));
  scene.push_back({kBall, 1.9F, {0.3F, 0.75F, 1}, Surface::glass});
  return scene;
}

Slab slab_of(int rank, int ranks, float eye) {
  constexpr float endless = std::numeric_limits<float>::infinity();
  const float thickness = kDepth / static_cast<float>(ranks);
  const auto border = [&](int number) { return eye + thickness * static_cast<float>(number); };
  return {rank == 0 ? -endless : border(rank), rank == ranks - 1 ? endless : border(rank + 1)};
}

std::vector<Sphere> inside(const std::vector<Sphere>& scene, Slab slab) {
  std::vector<Sphere> found;
  for (const Sphere& s : scene) {
    if (s.centre.z + s.radius >= slab.begin && s.centre.z - s.radius < slab.end) found.push_back(s);
  }
  return found;
}

std::vector<Sphere> shading(const std::vector<Sphere>& scene, Slab slab) {
  std::vector<Sphere> found;
  for (const Sphere& s : scene) {
    if (s.surface == Surface::glass) continue;
    // Its shadow ends on the floor, on the side away from the sun.
    const float longest = (s.centre.y + s.radius) / (kSun.y - 2 * kSunSpread);
    const float first = s.centre.z - s.radius - longest * std::max(0.0F, kSun.z + 2 * kSunSpread);
    const float last = s.centre.z + s.radius - longest * std::min(0.0F, kSun.z - 2 * kSunSpread);
    if (last >= slab.begin && first < slab.end) found.push_back(s);
  }
  return found;
}

}  // namespace raytracer
