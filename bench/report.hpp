// The results as JSON lines: a header object, then one object an iteration and algorithm.
#pragma once

#include "iteration.hpp"
#include "lines.hpp"

namespace bench {

class Report {
 public:
  /// Collective; rank 0 writes. Throws UsageError on all ranks if the file cannot be written.
  Report(const Options& options, int iterations, bool common_clock);

  void add(int iteration, const Contender& contender, const Measured& measured);

 private:
  Lines lines_;
  bool common_;
};

}  // namespace bench
