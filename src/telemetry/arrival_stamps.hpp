// The telemetry of one call: when each rank entered it. Every rank knows all stamps when the call
// ends, since they are piggybacked on the messages that carry the ranks' data.
//
// A rank that has the result has every stamp: each contribution came over a chain of messages. The
// algorithm decides which messages must carry stamps for this to hold (Algorithm::informs_all,
// docs/decisions/0012).
#pragma once

#include <vector>

#include "base/types.hpp"
#include "protocol/transport.hpp"

namespace latecomer {

/// One rank's stamp, in seconds on the clock that all ranks share.
struct ArrivalStamp {
  Seconds arrival = 0;
  float elapsed_before = 0;  // exit minus arrival in the call before; 0: there was none
  float elapsed = 0;         // exit minus arrival in this call, if it is over already; else 0

  bool operator==(const ArrivalStamp&) const = default;
};

class ArrivalStamps final : public Piggyback {
 public:
  explicit ArrivalStamps(Rank ranks) : stamps_(static_cast<std::size_t>(ranks)) {
    known_.reserve(stamps_.size());
    begin();
  }

  /// Begins a call: no stamp is known.
  void begin();
  /// Notes this rank's own stamp.
  void arrive(Rank me, const ArrivalStamp& stamp) { learn(me, stamp); }

  [[nodiscard]] bool complete() const { return known_.size() == stamps_.size(); }
  /// The stamps by rank. A stamp that is not known yet is the last call's.
  [[nodiscard]] const std::vector<ArrivalStamp>& all() const { return stamps_; }

  void pack(std::vector<char>& to) override;
  void unpack(const char* data, std::size_t bytes) override;

 private:
  void learn(Rank rank, const ArrivalStamp& stamp);

  std::vector<ArrivalStamp> stamps_;
  std::vector<bool> heard_;
  std::vector<Rank> known_;  // ranks whose stamp is known, in the order of receipt
};

}  // namespace latecomer
