// Networks and lateness drawn at random, for thousands of seeded runs.
#pragma once

#include <vector>

#include "base/network.hpp"
#include "base/reproducible.hpp"

namespace latecomer {

/// Messages take random times.
inline Network random_network(Random& random) {
  Network network;
  network.alpha = 1e-6 * static_cast<double>(1 + random.below(50));
  network.eager_limit = random.below(2) == 0 ? 0 : 1 << 20;
  network.handshake = 1e-6 * static_cast<double>(random.below(50));
  network.jitter = static_cast<double>(random.below(8));
  network.ports = static_cast<Count>(1 + random.below(3));
  network.per_node = static_cast<Rank>(1 + random.below(3));
  network.seed = random.next();
  return network;
}

inline std::vector<Seconds> random_arrivals(Rank ranks, Random& random) {
  const double spread = 1e-5 * static_cast<double>(random.below(200));
  std::vector<Seconds> arrivals;
  for (Rank rank = 0; rank < ranks; ++rank) arrivals.push_back(spread * random.uniform());
  return arrivals;
}

}  // namespace latecomer
