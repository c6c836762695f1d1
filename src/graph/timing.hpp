// The times of a call by the longest path: one pass over flat arrays, for any arrivals and costs,
// in an order of service that was found before.
#pragma once

#include "graph/service.hpp"

namespace latecomer {

/// The longest path that ends with a rank's exit: that is the arrival plus these times their costs.
struct CriticalPath {
  Rank arrival = -1;    // the rank with whose arrival it begins; -1: it begins before all arrivals
  double startups = 0;  // of messages between nodes; one that meets another counts as so many more
  double bytes = 0;     // of these
  double combined = 0;  // bytes combined, in memory of a rank's own
  Seconds other = 0;    // messages and memory within nodes, handshakes
};

class Timing {
 public:
  /// `service` of the activities.
  Timing(const Activities& all, const Service& service);

  /// The exits in seconds, by rank, for arrivals in seconds, one a rank and from 0 up; the same
  /// memory in each call. A rank that never leaves has infinity.
  const std::vector<Seconds>& evaluate(std::span<const Seconds> arrivals, const Network& network);
  /// The path to a rank's exit in the last evaluate().
  [[nodiscard]] CriticalPath critical_path(Rank rank) const;

 private:
  static constexpr std::uint8_t kExchanges = 16;  // added to the class of a message

  std::vector<Node> arrivals_;       // by rank
  std::vector<Node> exits_;          // by rank; kNone: never
  std::vector<std::uint8_t> class_;  // of the cost
  std::vector<double> bytes_;
  std::vector<std::uint32_t> waits_at_;
  std::vector<Moment> waits_;
  std::vector<Seconds> time_;  // by moment
  std::vector<Seconds> left_;
  double exchange_ = 1;
  ActivityCost costs_[2 * kExchanges];
};

}  // namespace latecomer
