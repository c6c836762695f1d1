// The command line.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "render.hpp"

namespace raytracer {

/// Names what is wrong and what would be right. Ends with exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] void refuse(const std::string& what, const std::string& value,
                         const std::string& remedy);

struct Options {
  bool help = false;
  std::vector<std::string> algorithms{"auto"};
  int frames = 20;
  Size size{640, 480};
  int root = 0;
  std::uint32_t seed = 1;
  std::string out;      // folder of the pictures; "": none
  std::string times;    // file; "": none
  std::string network;  // "": the library's default
  bool check = false;
};

extern const char* const kUsage;

/// Throws UsageError.
[[nodiscard]] Options parse_options(int argc, char** argv, int ranks);

}  // namespace raytracer
