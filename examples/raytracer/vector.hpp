// Points, directions and colours.
#pragma once

#include <cmath>

namespace raytracer {

struct Vector {
  float x = 0;
  float y = 0;
  float z = 0;
};

inline Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vector operator*(float s, Vector a) { return {s * a.x, s * a.y, s * a.z}; }
inline Vector operator*(Vector a, Vector b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
inline float dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vector unit(Vector a) { return (1 / std::sqrt(dot(a, a))) * a; }
inline Vector mix(Vector a, Vector b, float part) { return (1 - part) * a + part * b; }

}  // namespace raytracer
