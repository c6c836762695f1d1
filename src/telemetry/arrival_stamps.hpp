// Telemetry of one call: when each rank entered it, known to every rank when the call ends, since
// it travels along with the messages that carry the ranks' data.
//
// Whoever has the result has heard of every rank: each contribution came over a chain of messages.
// Which messages need to tell so that this is true is the algorithm's to say (Algorithm::tells,
// docs/decisions/0012).
#pragma once

#include <vector>

#include "base/types.hpp"
#include "protocol/piggyback.hpp"

namespace latecomer {

/// What a rank tells of itself, seconds on the clock that all ranks share.
struct ArrivalStamp {
  Seconds arrival = 0;
  float elapsed_before = 0;  // exit minus arrival of the call before; 0: there was none
  float elapsed = 0;         // of this call, where it is over before anything is told; else 0

  bool operator==(const ArrivalStamp&) const = default;
};

class ArrivalStamps final : public Piggyback {
 public:
  explicit ArrivalStamps(Rank ranks) : stamps_(static_cast<std::size_t>(ranks)) {
    known_.reserve(stamps_.size());
    begin();
  }

  /// A new call.
  void begin();
  /// This rank arrives.
  void arrive(Rank me, const ArrivalStamp& stamp) { learn(me, stamp); }

  [[nodiscard]] bool complete() const { return known_.size() == stamps_.size(); }
  /// One a rank; those that are not known are the last call's.
  [[nodiscard]] const std::vector<ArrivalStamp>& all() const { return stamps_; }

  void pack(std::vector<char>& to) override;
  void unpack(const char* data, std::size_t bytes) override;

 private:
  void learn(Rank rank, const ArrivalStamp& stamp);

  std::vector<ArrivalStamp> stamps_;
  std::vector<bool> heard_;
  std::vector<Rank> known_;  // in the order in which they were heard of
};

}  // namespace latecomer
