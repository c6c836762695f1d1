#include "render.hpp"

#include <algorithm>

#include "marble.hpp"
#include "random.hpp"

namespace raytracer {
namespace {

constexpr float kTooNear = 1e-3F;
constexpr int kShadowRays = 8;
constexpr const Sphere* kFloor = nullptr;

struct Ray {
  Vector eye;
  Vector direction;         // its z is 1: rays cross slabs from the first to the last
  std::uint32_t pixel = 0;  // a hash of where it is in the image
  [[nodiscard]] Vector at(float distance) const { return eye + distance * direction; }
};

struct Hit {
  float distance;
  const Sphere* sphere;
};

/// A rank's part of the scene.
struct Share {
  Slab slab;
  std::vector<Sphere> drawn;
  std::vector<Sphere> shading;
  bool sky;
};

Vector sky(Vector direction) {
  const float height = std::clamp(1.6F * unit(direction).y, 0.0F, 1.0F);
  return mix({0.86F, 0.9F, 0.94F}, {0.32F, 0.52F, 0.8F}, height);
}

void keep(std::vector<Hit>& hits, const Share& share, const Ray& ray, Hit hit) {
  if (hit.distance > kTooNear && share.slab.holds(ray.at(hit.distance).z)) hits.push_back(hit);
}

void meet_sphere(std::vector<Hit>& hits, const Share& share, const Ray& ray, const Sphere& sphere) {
  const Vector to = sphere.centre - ray.eye;
  const float a = dot(ray.direction, ray.direction);
  const float b = dot(ray.direction, to);
  const float inner = b * b - a * (dot(to, to) - sphere.radius * sphere.radius);
  if (inner <= 0) return;
  const float root = std::sqrt(inner);
  keep(hits, share, ray, {(b - root) / a, &sphere});
  if (sphere.surface == Surface::glass) keep(hits, share, ray, {(b + root) / a, &sphere});
}

bool hides_sun(const Sphere& sphere, Vector point, Vector sun) {
  const Vector to = sphere.centre - point;
  const float along = dot(to, sun);
  return along > 0 && dot(to, to) - along * along < sphere.radius * sphere.radius;
}

/// The part of the sun that is seen from a point.
float sunlight(const Share& share, const Ray& ray, Vector point) {
  int free = 0;
  Random random(ray.pixel);
  for (int i = 0; i < kShadowRays; ++i) {
    const auto off = [&] { return random.between(-kSunSpread, kSunSpread); };
    const float dx = off(), dy = off(), dz = off();
    const Vector sun = unit(kSun + Vector{dx, dy, dz});
    const auto hides = [&](const Sphere& sphere) { return hides_sun(sphere, point, sun); };
    free += std::none_of(share.shading.begin(), share.shading.end(), hides) ? 1 : 0;
  }
  return static_cast<float>(free) / kShadowRays;
}

Vector colour_at(const Sphere* sphere, Vector point) {
  if (sphere == kFloor) {
    const int tile = static_cast<int>(std::floor(point.x) + std::floor(point.z));
    return tile % 2 == 0 ? Vector{0.8F, 0.78F, 0.74F} : Vector{0.36F, 0.4F, 0.44F};
  }
  if (sphere->surface != Surface::marble) return sphere->colour;
  return mix(0.25F * sphere->colour, sphere->colour, marble(point - sphere->centre));
}

float highlight(Vector normal, Vector direction) {
  const Vector half = unit(kSun - unit(direction));
  return 0.6F * std::pow(std::max(0.0F, dot(normal, half)), 60.0F);
}

Pixel shade_glass(const Ray& ray, const Sphere& sphere, Vector normal) {
  const float facing = std::abs(dot(normal, unit(ray.direction)));
  const float rim = (1 - facing) * (1 - facing);
  const float shine = highlight(normal, ray.direction);
  const Vector white{1, 1, 1};
  return shown(mix(sphere.colour, white, std::min(1.0F, 0.4F * rim + shine)),
               std::min(0.95F, 0.16F + 0.7F * rim + shine));
}

Pixel shade_solid(const Share& share, const Ray& ray, const Hit& hit, Vector normal) {
  const Vector point = ray.at(hit.distance);
  const float facing = dot(normal, kSun);
  const float sun = facing > 0 ? sunlight(share, ray, point) : 0;
  const float light = 0.3F + 0.12F * normal.y + 0.75F * sun * std::max(0.0F, facing);
  const float shine = hit.sphere == kFloor ? 0 : sun * highlight(normal, ray.direction);
  const Vector colour = light * colour_at(hit.sphere, point) + shine * Vector{1, 1, 1};
  const float haze = 1 - std::exp(-0.0006F * hit.distance * hit.distance);
  return shown(mix(colour, sky({ray.direction.x, 0, 1}), haze), 1);
}

Pixel shade(const Share& share, const Ray& ray, const Hit& hit) {
  if (hit.sphere == kFloor) return shade_solid(share, ray, hit, {0, 1, 0});
  const Sphere& sphere = *hit.sphere;
  const Vector normal = (1 / sphere.radius) * (ray.at(hit.distance) - sphere.centre);
  return sphere.surface == Surface::glass ? shade_glass(ray, sphere, normal)
                                          : shade_solid(share, ray, hit, normal);
}

/// `hits` is only working memory.
Pixel trace(const Share& share, const Ray& ray, std::vector<Hit>& hits) {
  hits.clear();
  for (const Sphere& sphere : share.drawn) meet_sphere(hits, share, ray, sphere);
  if (ray.direction.y < 0) keep(hits, share, ray, {-ray.eye.y / ray.direction.y, kFloor});
  const auto nearer = [](const Hit& a, const Hit& b) { return a.distance < b.distance; };
  std::sort(hits.begin(), hits.end(), nearer);
  Pixel seen;
  for (const Hit& hit : hits) {
    seen = over(seen, shade(share, ray, hit));
    if (seen.alpha >= 1) return seen;
  }
  return share.sky ? over(seen, shown(sky(ray.direction), 1)) : seen;
}

/// Through the middle of a pixel. The horizon is above the middle of the image.
Ray ray_of(Vector eye, Size size, int column, int row) {
  const auto part = [&](int at, int of) {
    return (static_cast<float>(at) + 0.5F - 0.5F * static_cast<float>(of)) /
           static_cast<float>(size.height);
  };
  const Vector direction{1.1F * part(column, size.width), -1.1F * part(row, size.height) - 0.06F,
                         1};
  return {eye, direction, mixed(static_cast<std::uint32_t>(row * size.width + column))};
}

}  // namespace

Vector eye_at(int frame) {
  const auto time = static_cast<float>(frame);
  return {0.9F * std::sin(0.3F * time), 1.9F, 0.5F * time};
}

void render(const std::vector<Sphere>& scene, Vector eye, Part part, Size size, Image& image) {
  const Slab slab = slab_of(part.rank, part.ranks, eye.z);
  const Share share{slab, inside(scene, slab), shading(scene, slab), part.rank == part.ranks - 1};
  image.resize(static_cast<std::size_t>(size.pixels()));
  std::vector<Hit> hits;
  auto pixel = image.begin();
  for (int row = 0; row < size.height; ++row) {
    for (int column = 0; column < size.width; ++column) {
      *pixel++ = trace(share, ray_of(eye, size, column, row), hits);
    }
  }
}

}  // namespace raytracer
