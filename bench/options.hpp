// The command line of the benchmark.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "usage_error.hpp"

namespace bench {

/// The effect of the delays: ranks arrive late, have fuller images, or combine more slowly (the
/// three kinds of imbalance of Marendic 2012, section 2.2).
enum class Imbalance { phase, data, op };

/// The estimate of the arrivals that the library gets before they happen.
enum class Estimate { perfect, online, wrong };

struct Options {
  bool help = false;
  std::string delays;                   // file
  std::vector<std::string> algorithms;  // as users write them
  std::string collective = "allreduce";
  int root = 0;
  std::int64_t count = 0;  // numbers of `type` in the whole vector
  std::string type = "float32";
  std::string op = "sum";
  Imbalance imbalance = Imbalance::phase;
  double compute = 0.1;  // seconds
  double edge = 0.5;     // part of the computation before its edge
  Estimate estimate = Estimate::perfect;
  std::string progress = "declared";
  int warmup = 1;
  std::uint64_t seed = 1;
  std::string network;
  std::string output;  // "": standard output

  [[nodiscard]] const char* estimate_name() const;
  [[nodiscard]] const char* imbalance_name() const;
};

/// Throws UsageError.
[[nodiscard]] Options parse_options(int argc, char** argv);

extern const char* const kUsage;

}  // namespace bench
