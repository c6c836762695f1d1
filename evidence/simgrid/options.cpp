#include "options.hpp"

#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>

#include "base/error.hpp"
#include "base/parse.hpp"

namespace latecomer {
namespace {

Rank parse_rank_count(const std::string& what, const std::string& text) {
  const Count value = parse_count(what, text);
  if (value < 1 || value > std::numeric_limits<Rank>::max()) {
    throw Error(what, text, "a whole number from 1 to 2147483647");
  }
  return static_cast<Rank>(value);
}

Rank parse_rank(const std::string& what, const std::string& text) {
  const Count value = parse_count(what, text);
  if (value > std::numeric_limits<Rank>::max()) {
    throw Error(what, text, "a whole number from 0 to 2147483647");
  }
  return static_cast<Rank>(value);
}

std::vector<Count> parse_counts(const std::string& what, const std::string& text) {
  std::vector<Count> counts;
  for (const std::string_view part : split(text, ',')) counts.push_back(parse_count(what, part));
  return counts;
}

std::vector<Seconds> read_times(const std::string& what, const std::string& file) {
  std::istringstream words(read_file(what, file));
  std::vector<Seconds> times;
  for (std::string word; words >> word;) {
    times.push_back(parse_number(what, word));
    if (times.back() < 0) throw Error(what, word, "seconds, 0 or more");
  }
  return times;
}

using Setter = std::function<void(const std::string& name, const std::string& value)>;

std::map<std::string, Setter> setters(SimGridCommand& c) {
  using Text = const std::string&;
  return {
      {"--platform", [&](Text, Text v) { c.platform = v; }},
      {"--schedule", [&](Text, Text v) { c.schedule = v; }},
      {"--algorithm", [&](Text, Text v) { c.algorithm = v; }},
      {"--collective", [&](Text, Text v) { c.problem.collective = parse_collective(v); }},
      {"--ranks", [&](Text n, Text v) { c.problem.ranks = parse_rank_count(n, v); }},
      {"--root", [&](Text n, Text v) { c.problem.root = parse_rank(n, v); }},
      {"--parts", [&](Text n, Text v) { c.problem.parts = parse_counts(n, v); }},
      {"--count", [&](Text n, Text v) { c.problem.count = parse_count(n, v); }},
      {"--element-bytes", [&](Text n, Text v) { c.problem.element_bytes = parse_count(n, v); }},
      {"--arrivals", [&](Text n, Text v) { c.arrivals = read_times(n, v); }},
      {"--estimate", [&](Text n, Text v) { c.estimate = read_times(n, v); }},
      {"--network", [&](Text, Text v) { c.network = parse_network(v); }},
      {"--per-node", [&](Text n, Text v) { c.per_node = parse_rank_count(n, v); }},
      {"--placement", [&](Text, Text v) { c.placement = v; }},
      {"--seed", [&](Text n, Text v) { c.seed = static_cast<std::uint64_t>(parse_count(n, v)); }},
  };
}

std::map<std::string, std::function<void()>> flags(SimGridCommand& c) {
  return {
      {"--help", [&] { c.help = true; }},
      {"--version", [&] { c.version = true; }},
      {"--check", [&] { c.check = true; }},
      {"--non-commutative", [&] { c.problem.commutative = false; }},
      {"--exact", [&] { c.problem.exact = true; }},
      {"--in-place", [&] { c.problem.in_place = true; }},
  };
}

bool is_simgrids_own(const std::string& name) {
  return name.starts_with("--cfg=") || name.starts_with("--log=");
}

void check_complete(const SimGridCommand& c) {
  (void)read_file("--platform", c.platform);  // SimGrid ends the process where it cannot
  if (!c.placement.empty() && c.per_node != 1) {
    throw Error("--placement", c.placement, "left out beside --per-node");
  }
  if (c.algorithm.empty() == c.schedule.empty()) {
    throw Error("--algorithm", c.algorithm, "a name, or --schedule FILE in its place");
  }
}

}  // namespace

const char* const kSimGridUsage =
    R"(usage: latecomer_simgrid --platform FILE --algorithm NAME --ranks P --count N [options]

Runs an algorithm's ranks as SimGrid actors and prints arrivals and exits as JSON, in seconds.

  --platform FILE       SimGrid's XML; rank r runs on its r-th host
  --algorithm NAME      as in ring or sorted_linear_tree:segments=64
  --schedule FILE       a schedule's text, in place of --algorithm, --ranks and --count
  --collective C        default allreduce
  --root R              default 0
  --parts N,N,...       elements of each rank's part; default: as equal as can be
  --ranks P  --count N  elements, as in 1Mi, of
  --element-bytes N     default 4
  --non-commutative     the operator does not commute
  --exact               the operator gives the same bits in whatever order it combines
  --in-place            input and output are one buffer
  --arrivals FILE       when each rank arrives, in seconds; default: all at 0
  --estimate FILE       what the plan is made for; default: the arrivals
  --network TEXT        costs to plan for; gamma and eager are simulated, the rest is the platform's
  --per-node K          ranks on a host, which share its memory; default 1
  --placement 0,0,1,1   the node of each rank, in place of --per-node; node n is the n-th host
  --check               compute with random elements, too, and count the wrong ones
  --seed N              of those elements; default 1
  --cfg=NAME:VALUE      SimGrid's own settings, as in --cfg=network/model:CM02
  --version             SimGrid's

example: latecomer_simgrid --platform cluster.xml --algorithm ring --ranks 16 --count 1Mi
)";

std::string read_file(const std::string& what, const std::string& file) {
  std::ifstream stream(file);
  stream.peek();  // a folder can be opened, but not read
  if (!stream.is_open() || stream.bad()) throw Error(what, file, "a file that can be read");
  return {std::istreambuf_iterator<char>(stream), {}};
}

SimGridCommand parse_simgrid_command(int argc, const char* const* argv) {
  SimGridCommand command;
  const auto known = setters(command);
  const auto known_flags = flags(command);
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (is_simgrids_own(name)) continue;
    if (const auto flag = known_flags.find(name); flag != known_flags.end()) {
      flag->second();
      continue;
    }
    const auto found = known.find(name);
    if (found == known.end()) throw Error("option", name, "one of those that --help lists");
    if (i + 1 == argc) throw Error(name, "", "a value after it");
    found->second(name, argv[++i]);
  }
  if (!command.help && !command.version) check_complete(command);
  return command;
}

}  // namespace latecomer
