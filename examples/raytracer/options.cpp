#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

namespace raytracer {
namespace {

constexpr int kMostPixelsASide = 16384;
constexpr int kMostFrames = 1000000;

/// Throws UsageError.
int whole(const std::string& name, const std::string& text, int least, int most) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < least || value > most) {
    refuse(name, text,
           "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

Size size_of(const std::string& name, const std::string& text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string::npos) refuse(name, text, "WIDTHxHEIGHT, as in 640x480");
  return {whole(name, text.substr(0, cross), 1, kMostPixelsASide),
          whole(name, text.substr(cross + 1), 1, kMostPixelsASide)};
}

std::vector<std::string> names(const std::string& option, const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, comma - begin);
    if (name.empty()) refuse(option, text, "names, as in native,auto");
    all.push_back(name);
    begin = comma + 1;
  }
  return all;
}

using Setter = std::function<void(const std::string& name, const std::string& value)>;

std::map<std::string, Setter> setters(Options& o, int ranks) {
  using Text = const std::string&;
  return {
      {"--algorithm", [&](Text n, Text v) { o.algorithms = names(n, v); }},
      {"--frames", [&](Text n, Text v) { o.frames = whole(n, v, 1, kMostFrames); }},
      {"--size", [&](Text n, Text v) { o.size = size_of(n, v); }},
      {"--root", [&, ranks](Text n, Text v) { o.root = whole(n, v, 0, ranks - 1); }},
      {"--seed",
       [&](Text n, Text v) { o.seed = static_cast<std::uint32_t>(whole(n, v, 0, kMostFrames)); }},
      {"--out", [&](Text, Text v) { o.out = v; }},
      {"--times", [&](Text, Text v) { o.times = v; }},
      {"--network", [&](Text, Text v) { o.network = v; }},
  };
}

}  // namespace

void refuse(const std::string& what, const std::string& value, const std::string& remedy) {
  throw UsageError(what + ": '" + value + "' is not usable; right would be " + remedy);
}

const char* const kUsage =
    R"(usage: latecomer_raytracer [options]

A ray tracer whose ranks each draw one slab of depth of a scene. The images are composited by
latecomer_reduce with the operator over, which does not commute. Start it with mpirun.

  --algorithm LIST   of the reduction: auto (default), native, binomial, ...; each frame is drawn
                     and composited once for each of several
  --frames N         default 20; the camera flies on from one to the next
  --size WxH         of the image in pixels; default 640x480
  --root RANK        who gets the image; default 0
  --seed N           of the scene; default 1
  --out FOLDER       write frame-000.ppm, ... into this folder (of the first algorithm)
  --times FILE       write one JSON object a frame and algorithm
  --network TEXT     what transfers cost, for plans: alpha=100us,beta=40ns,gamma=0.15ns
  --check            the root draws each frame alone, too, and compares

example: mpirun -n 4 latecomer_raytracer --algorithm native,auto --frames 5 --out pictures
)";

Options parse_options(int argc, char** argv, int ranks) {
  Options options;
  const auto known = setters(options, ranks);
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help" || name == "--check") {
      (name == "--help" ? options.help : options.check) = true;
      continue;
    }
    const auto found = known.find(name);
    if (found == known.end()) refuse("option", name, "one of those that --help lists");
    if (i + 1 == argc) refuse(name, "", "a value after it");
    found->second(name, argv[++i]);
  }
  return options;
}

}  // namespace raytracer
