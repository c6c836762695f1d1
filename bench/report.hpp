// The results as JSON lines: a header object, then one object an iteration and algorithm.
#pragma once

#include <cstdio>
#include <string>

#include "iteration.hpp"

namespace bench {

class Report {
 public:
  /// Collective; rank 0 writes. Throws UsageError on all ranks if the file cannot be written.
  Report(const Options& options, int iterations, bool common_clock);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  void add(int iteration, const Contender& contender, const Measured& measured);

 private:
  void write(const std::string& line);

  std::FILE* file_ = nullptr;
  bool common_;
};

}  // namespace bench
