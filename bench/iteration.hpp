// One measured collective: the ranks compute (that is, sleep), arrive, reduce, and leave.
#pragma once

#include <vector>

#include "contender.hpp"

namespace bench {

/// The times of one rank, in seconds of its clock.
struct Stamps {
  double arrival = 0;
  double exit = 0;
};

struct Measured {
  std::vector<Stamps> stamps;  // by rank; on rank 0 only
  long long wrong = 0;         // elements of all ranks; on rank 0 only
};

class Lab {
 public:
  Lab(const Options& options, bool common_clock) : options_(options), common_(common_clock) {}

  /// Collective. `delays`: by rank.
  Measured run(Contender& contender, Workload& workload, const std::vector<double>& delays) const;

 private:
  [[nodiscard]] double common_start() const;
  void compute(const Contender& contender, double start, double delay) const;
  [[nodiscard]] std::vector<double> lateness(const std::vector<double>& delays) const;
  [[nodiscard]] std::vector<double> estimate(const std::vector<double>& delays) const;

  const Options& options_;
  bool common_;
};

}  // namespace bench
