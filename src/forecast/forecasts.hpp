// The forecasts of a communicator's calls: one for each key, and one more for each place in the
// sequence of calls where the key alone does not tell.
#pragma once

#include <map>

#include "forecast/arrival_grid.hpp"
#include "forecast/call_sequence.hpp"
#include "forecast/forecast.hpp"

namespace latecomer {

/// Equal on all ranks if they make the same calls of it in the same order.
class Forecasts {
 public:
  static constexpr std::size_t kMax = 64;  // histories kept
  /// A history that was not used for so many observations gives way to one that needs its room.
  static constexpr std::uint64_t kIdle = 128;
  /// What all histories may take, bytes.
  [[nodiscard]] static std::size_t allowance(Rank ranks) {
    constexpr std::size_t kLargest = 8;  // of the largest histories there is room for so many
    return kLargest * Forecast::allowance(ranks);
  }

  /// Throws Error unless there is a rank.
  explicit Forecasts(Rank ranks);

  /// A call begins: which history it belongs to. Every call of the communicator must be told.
  HistoryKey enter(CallKey key);
  /// Who will be late in the call that entered. The history of its place says it, or if that is not
  /// trusted the one of all calls with its key.
  [[nodiscard]] Estimate next(const HistoryKey& history) const;
  /// The same on a grid, for plans: seconds after the earliest; empty: nothing is trusted. Less
  /// than `min_step` matters to no plan.
  [[nodiscard]] const std::vector<Seconds>& expect(const HistoryKey& history, Seconds min_step = 0);
  /// What a call showed; it may be told later, or not at all. Throws Error as Forecast does.
  void observe(const HistoryKey& history, const Observation& observation);

  /// Bytes.
  [[nodiscard]] std::size_t memory() const;

 private:
  struct Entry {
    Forecast forecast;
    ArrivalGrid grid = {};
    std::uint32_t snapped = 0;  // version of the forecast that the grid is from
    std::uint64_t used = 0;     // the observation that came last
  };

  [[nodiscard]] bool trusted(const HistoryKey& history) const;
  /// Of the two that may know: the one whose forecast is trusted, else that of the place.
  [[nodiscard]] HistoryKey best(const HistoryKey& history) const;
  void add(const HistoryKey& history, const Observation& observation);
  [[nodiscard]] bool make_room();
  [[nodiscard]] std::size_t entry_memory(const Forecast& forecast) const;

  Rank ranks_;
  CallSequence sequence_;
  std::map<HistoryKey, Entry> entries_;
  std::size_t taken_ = 0;          // bytes, by entries
  std::vector<Seconds> expected_;  // of the last question
  std::uint64_t observations_ = 0;
};

}  // namespace latecomer
