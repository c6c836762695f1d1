#include "options.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "reading.hpp"

namespace bench {
namespace {

std::vector<std::string> names(const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    all.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return all;
}

std::string one_of(const std::string& name, const std::string& value,
                   const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& word : known) {
    if (word == value) return value;
    list += (list.empty() ? "" : ", ") + word;
  }
  refuse(name, value, ("one of " + list).c_str());
}

// As in the enumerations.
constexpr const char* kEstimates[] = {"perfect", "online", "wrong"};
constexpr const char* kImbalances[] = {"phase", "data", "operator"};

template <class Kind>
Kind kind(const std::string& name, const std::string& value, const char* const (&words)[3]) {
  const std::string word = one_of(name, value, {words[0], words[1], words[2]});
  return static_cast<Kind>(std::find(std::begin(words), std::end(words), word) - words);
}

constexpr double kLongest = 86400;  // seconds
constexpr std::int64_t kMostCount = 2147483647;

using Name = std::string;
using Setter = std::function<void(const Name& name, const std::string& value)>;

std::map<Name, Setter> setters(Options& o) {
  return {
      {"--delays", [&](const Name&, const std::string& v) { o.delays = v; }},
      {"--algorithms", [&](const Name&, const std::string& v) { o.algorithms = names(v); }},
      {"--collective",
       [&](const Name& n, const std::string& v) {
         o.collective =
             one_of(n, v, {"allreduce", "allgather", "reduce", "bcast", "gather", "scatter"});
       }},
      {"--root", [&](const Name& n, const std::string& v) { o.root = whole_int(n, v, 0); }},
      {"--count", [&](const Name& n, const std::string& v) { o.count = whole(n, v, 1); }},
      {"--type",
       [&](const Name& n, const std::string& v) {
         o.type = one_of(n, v, {"float32", "float64", "int32", "int64"});
       }},
      {"--op",
       [&](const Name& n, const std::string& v) {
         o.op = one_of(n, v, {"sum", "max", "slow-sum", "non-commutative", "over"});
       }},
      {"--imbalance",
       [&](const Name& n, const std::string& v) {
         o.imbalance = kind<Imbalance>(n, v, kImbalances);
       }},
      {"--compute", [&](const Name& n, const std::string& v) { o.compute = real(n, v, kLongest); }},
      {"--edge", [&](const Name& n, const std::string& v) { o.edge = real(n, v, 1); }},
      {"--estimate",
       [&](const Name& n, const std::string& v) { o.estimate = kind<Estimate>(n, v, kEstimates); }},
      {"--progress",
       [&](const Name& n, const std::string& v) {
         o.progress = one_of(n, v, {"declared", "none", "thread"});
       }},
      {"--warmup", [&](const Name& n, const std::string& v) { o.warmup = whole_int(n, v, 0); }},
      {"--seed",
       [&](const Name& n, const std::string& v) {
         o.seed = static_cast<std::uint64_t>(whole(n, v, 0));
       }},
      {"--network", [&](const Name&, const std::string& v) { o.network = v; }},
      {"--output", [&](const Name&, const std::string& v) { o.output = v == "-" ? "" : v; }},
  };
}

void check_imbalance(const Options& o) {
  if (o.imbalance == Imbalance::phase) return;
  if (o.collective != "allreduce" && o.collective != "reduce") {
    refuse("--imbalance", o.imbalance_name(), ("phase for " + o.collective).c_str());
  }
  if (o.imbalance == Imbalance::data && o.op != "over") {
    refuse("--imbalance", "data", "with --op over, which skips what is clear");
  }
}

void check(const Options& o) {
  if (o.delays.empty()) refuse("--delays", "", "a file with one line of delays an iteration");
  if (o.algorithms.empty()) refuse("--algorithms", "", "names, as in native,ring");
  if (o.count < 1 || o.count > kMostCount) {
    refuse("--count", std::to_string(o.count), "a whole number from 1 to 2147483647");
  }
  if (o.op == "non-commutative" && o.count % 2 != 0) {
    refuse("--count", std::to_string(o.count), "even for non-commutative, which works on pairs");
  }
  if (o.op == "over" && o.count % 4 != 0) {
    refuse("--count", std::to_string(o.count), "a multiple of 4 for over: red, green, blue, alpha");
  }
  check_imbalance(o);
}

}  // namespace

const char* Options::estimate_name() const { return kEstimates[static_cast<int>(estimate)]; }
const char* Options::imbalance_name() const { return kImbalances[static_cast<int>(imbalance)]; }

const char* const kUsage =
    R"(usage: latecomer_bench --delays FILE --algorithms A,B,... --count N [options]

Measures a collective when ranks do not arrive together. Start it with mpirun.

  --delays FILE       one line an iteration: for each rank the seconds that it is late; # comments
  --algorithms LIST   names with parameters, as in native,ring,sorted_linear_tree:segments=64
  --collective C      allreduce (default), allgather, reduce, bcast, gather, scatter
  --root RANK         of those that have one; default 0
  --count N           numbers in the whole vector (where ranks have parts: a multiple of them), of
  --type TYPE         float32 (default), float64, int32, int64
  --op OP             sum (default), max, slow-sum (a user's operator, about 100 times slower),
                      non-commutative (a user's operator on pairs of numbers; N must be even),
                      over (of images: a front pixel hides the one behind it unless it is clear;
                      4 numbers a pixel; clear ones in front are skipped)
  --imbalance KIND    what the delays do. phase (default): a rank arrives so much later. operator:
                      combining one whole vector takes so much longer on it. data: they are in
                      proportion to what its image shows, the rest of it is clear; only with over
  --compute SECONDS   emulated computation before the delay; default 0.1
  --edge FRACTION     part of it (delays included) before its edge, at which the library is told
                      with --estimate online; default 0.5
  --estimate WHAT     arrivals told to the library: perfect (default), or wrong (reversed);
                      online: none, it finds them out
  --progress HOW      thread: all ranks have a progress thread; none: none has; declared
                      (default): as LATECOMER_PROGRESS says
  --warmup N          run the first line N times before, unrecorded; default 1. auto, which learns,
                      runs it 9 times more
  --seed N            of the data and of the order of algorithms; default 1
  --network TEXT      alpha=50us,beta=8ns,gamma=0.1ns: told to the library
  --output FILE       JSON lines: a header, then one object an iteration and algorithm

example: mpirun -n 4 latecomer_bench --delays delays.txt --algorithms native,ring --count 1048576
)";

Options parse_options(int argc, char** argv) {
  Options options;
  const auto known = setters(options);
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help") {
      options.help = true;
      return options;
    }
    const auto found = known.find(name);
    if (found == known.end()) refuse("option", name, "one of those that --help lists");
    if (i + 1 == argc) refuse(name, "", "a value after it");
    found->second(name, argv[++i]);
  }
  check(options);
  return options;
}

}  // namespace bench
