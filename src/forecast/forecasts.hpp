// The forecasts of a communicator's calls: one for each key, and one more for each position in the
// sequence of calls where the key alone is ambiguous.
#pragma once

#include <map>

#include "forecast/arrival_grid.hpp"
#include "forecast/call_sequence.hpp"
#include "forecast/forecast.hpp"

namespace latecomer {

/// Equal on all ranks if they call its functions alike, in the same order.
class Forecasts {
 public:
  /// Throws Error unless there is a rank.
  explicit Forecasts(Rank ranks);
  /// Begins a call, and returns its history. Every call of the communicator must be entered.
  HistoryKey enter(CallKey key);
  /// The forecast for the call that was entered: by the history of its position, or if that is not
  /// trusted by the history of all calls with its key.
  [[nodiscard]] Estimate next(const HistoryKey& history) const;
  /// The forecast on a grid, for plans: arrivals in seconds after the earliest; empty: nothing is
  /// trusted. Differences below `min_step` matter to no plan.
  [[nodiscard]] const std::vector<Seconds>& expect(const HistoryKey& history, Seconds min_step = 0);
  /// Adds the observation of a call, possibly later, or never. Throws Error as Forecast does.
  void observe(const HistoryKey& history, const Observation& observation);

  /// The memory taken, bytes.
  [[nodiscard]] std::size_t memory() const {
    return sizeof(Forecasts) + entries_.size() * entry_memory_;
  }

 private:
  struct Entry {
    Forecast forecast;
    mutable ArrivalGrid grid = {};
    std::uint64_t used = 0;  // the last observation
  };
  [[nodiscard]] const Entry* find(const HistoryKey& history) const;
  [[nodiscard]] bool make_room();

  Rank ranks_;
  std::size_t entry_memory_;  // bytes
  CallSequence sequence_;
  std::map<HistoryKey, Entry> entries_;
  std::vector<Seconds> expected_;  // by the last expect()
  std::uint64_t observations_ = 0;
};

}  // namespace latecomer
