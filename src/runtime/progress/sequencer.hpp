// What rank 0 of a communicator keeps to plan calls for all ranks: who asked for which, and when
// ranks said they would arrive.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "runtime/progress/plan_channel.hpp"

namespace latecomer {

class Sequencer {
 public:
  explicit Sequencer(Rank ranks) : reports_(static_cast<std::size_t>(ranks)) {}

  /// A rank is in a call, and has no plan.
  void note_request(const PlanMessage& request) {
    requested_.try_emplace(request.call, request.signature);
  }
  void note_report(Rank from, const PlanMessage& report);
  /// What `call` was asked for as, if it was.
  [[nodiscard]] std::optional<CallSignature> requested(std::uint64_t call) const;
  /// All calls up to this one are planned.
  void forget(std::uint64_t call) {
    requested_.erase(requested_.begin(), requested_.upper_bound(call));
  }

  /// The arrivals to plan `call` with, seconds after the earliest: the forecast of earlier calls
  /// (empty: there is none), and where a rank reported, its own word, which weighs as much as the
  /// part of the computation that it rests on; all of it where there is no forecast. `now` on the
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
