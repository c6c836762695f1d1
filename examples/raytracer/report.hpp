// The times of a frame on all ranks: a line for people, and one for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace raytracer {

/// Seconds since the frame began: when the rank had drawn its part, and when it was done.
struct Times {
  double arrival = 0;
  double exit = 0;
};

struct Frame {
  int number = 0;
  std::string algorithm;
  std::vector<Times> times;         // by rank
  std::optional<float> from_first;  // difference from the first algorithm's image
  std::optional<float> from_alone;  // difference from the image that one rank drew alone
};

[[nodiscard]] std::string line(const Frame& frame);
[[nodiscard]] std::string json(const Frame& frame);

}  // namespace raytracer
