// The state with which rank 0 of a communicator plans calls for all ranks: the requests for plans,
// and the reported arrivals.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "runtime/progress/plan_channel.hpp"

namespace latecomer {

class Sequencer {
 public:
  explicit Sequencer(Rank ranks) : reports_(static_cast<std::size_t>(ranks)) {}

  /// Notes that a rank is in a call, and has no plan.
  void note_request(const PlanMessage& request) {
    requested_.try_emplace(request.call, request.signature);
  }
  void note_report(Rank from, const PlanMessage& report);
  /// The signature of `call`, if a plan was requested for it.
  [[nodiscard]] std::optional<CallSignature> requested(std::uint64_t call) const;
  /// Forgets requests for calls up to this one, which are planned.
  void forget(std::uint64_t call) {
    requested_.erase(requested_.begin(), requested_.upper_bound(call));
  }

  /// The arrivals to plan `call` with, in seconds after the earliest: the forecast from earlier
  /// calls (empty: there is none), blended with the ranks' reports. A report has the weight of the
  /// part of the computation that it rests on, and full weight without a forecast. `now` on the
  /// clock of the reports: one rank has arrived.
  [[nodiscard]] std::vector<Seconds> blend(std::uint64_t call, std::vector<Seconds> forecast,
                                           Seconds now) const;

 private:
  struct Report {
    std::uint64_t call = 0;  // 0: none
    Seconds arrival = 0;
    double weight = 0;
  };

  std::map<std::uint64_t, CallSignature> requested_;  // by call
  std::vector<Report> reports_;                       // the last of each rank
};

}  // namespace latecomer
