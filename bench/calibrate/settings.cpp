#include "settings.hpp"

#include "../reading.hpp"

namespace bench {
namespace {

constexpr std::int64_t kLeastLargest = 1 << 18;
constexpr std::int64_t kMostLargest = 1 << 30;
constexpr double kLongest = 86400;  // seconds

void set(Settings& settings, const std::string& name, const std::string& value) {
  if (name == "--seconds") {
    settings.seconds = real(name, value, kLongest);
  } else if (name == "--rounds") {
    settings.rounds = whole_int(name, value, 1);
  } else if (name == "--largest") {
    settings.largest = whole(name, value, kLeastLargest, kMostLargest);
  } else if (name == "--output") {
    settings.output = value == "-" ? "" : value;
  } else {
    refuse("option", name, "one of those that --help lists");
  }
}

}  // namespace

const char* const kCalibrateUsage =
    R"(usage: latecomer_calibrate [options]

Measures what messages and combining cost between the ranks of this job. Start it with mpirun, at
least 2 ranks; `latecomer calibrate` does, and makes a network's parameters of the samples.

  --seconds S      about how long to measure; default 30
  --rounds N       measure everything at least so many times; default 7
  --largest BYTES  the longest message; default 4194304
  --output FILE    JSON lines: a header, then one object a sample

example: mpirun -n 4 latecomer_calibrate --seconds 10
)";

Settings parse_settings(int argc, char* const* argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help") {
      settings.help = true;
      return settings;
    }
    if (i + 1 == argc) refuse(name, "", "a value after it");
    set(settings, name, argv[++i]);
  }
  return settings;
}

}  // namespace bench
