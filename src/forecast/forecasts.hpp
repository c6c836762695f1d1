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
  static constexpr std::size_t kMax = 64;  // histories kept
  /// A history unused for this many observations gives way to one that needs its memory.
  static constexpr std::uint64_t kIdle = 128;
  /// The memory that all histories may take, bytes.
  [[nodiscard]] static std::size_t allowance(Rank ranks) {
    constexpr std::size_t kLargest = 8;  // of the largest histories there is room for so many
    return kLargest * Forecast::allowance(ranks);
  }
  /// Histories that search at the same time: the rest of the memory is for others.
  static constexpr std::size_t kSearching = 4;

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
  [[nodiscard]] std::size_t memory() const;

 private:
  struct Entry {
    Forecast forecast;
    ArrivalGrid grid = {};
    std::uint32_t snapped = 0;  // the version of the forecast on the grid
    std::uint64_t used = 0;     // the last observation
  };

  [[nodiscard]] bool trusted(const HistoryKey& history) const;
  /// Returns the history, a position's or its key's, whose forecast is trusted, preferably the
  /// position's.
  [[nodiscard]] HistoryKey best(const HistoryKey& history) const;
  void add(const HistoryKey& history, const Observation& observation);
  [[nodiscard]] bool make_room(std::size_t bytes);
  void count(const Entry& entry);
  void discount(const Entry& entry);
  [[nodiscard]] std::size_t entry_memory(const Forecast& forecast) const;

  Rank ranks_;
  CallSequence sequence_;
  std::map<HistoryKey, Entry> entries_;
  std::size_t taken_ = 0;          // bytes of the entries
  std::size_t searching_ = 0;      // entries that search
  std::vector<Seconds> expected_;  // by the last expect()
  std::uint64_t observations_ = 0;
};

}  // namespace latecomer
