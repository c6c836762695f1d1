// The command line of the calibration program.
#pragma once

#include <cstdint>
#include <string>

namespace bench {

struct Settings {
  bool help = false;
  double seconds = 30;               // about how long to measure
  int rounds = 7;                    // at least
  std::int64_t largest = 4LL << 20;  // bytes of a message
  std::string output;                // "": standard output
};

/// Throws UsageError.
[[nodiscard]] Settings parse_settings(int argc, char* const* argv);

extern const char* const kCalibrateUsage;

}  // namespace bench
