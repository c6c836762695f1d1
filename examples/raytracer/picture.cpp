#include "picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

namespace raytracer {
namespace {

/// Screens show the square of the number, about.
char byte(float value) {
  const long level = std::lround(255 * std::sqrt(std::clamp(value, 0.0F, 1.0F)));
  return static_cast<char>(static_cast<unsigned char>(level));
}

}  // namespace

bool write_picture(const std::string& folder, int frame, Size size, const Image& image) {
  char name[32];
  std::snprintf(name, sizeof name, "/frame-%03d.ppm", frame);
  std::string bytes = "P6\n" + std::to_string(size.width) + ' ' + std::to_string(size.height);
  bytes += "\n255\n";
  for (const Pixel& pixel : image) {
    for (const float colour : {pixel.red, pixel.green, pixel.blue}) bytes += byte(colour);
  }
  std::ofstream file(folder + name, std::ios::binary);
  file << bytes;
  return static_cast<bool>(file.flush());
}

float difference(const Image& one, const Image& other) {
  float largest = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const Pixel &a = one[i], &b = other[i];
    for (const float d : {a.red - b.red, a.green - b.green, a.blue - b.blue, a.alpha - b.alpha}) {
      largest = std::max(largest, std::abs(d));
    }
  }
  return largest;
}

}  // namespace raytracer
