// The forecasts of a communicator's calls: one for each key, and one more for each place in the
// sequence of calls where the key alone does not tell.
#pragma once

#include <map>

#include "arrival/call_sequence.hpp"
#include "arrival/forecast.hpp"

namespace latecomer {

/// Equal on all ranks if they make the same calls of it in the same order.
class Forecasts {
 public:
  static constexpr std::size_t kMost = 64;  // histories kept; the one unused longest goes

  /// Throws Error unless there is a rank.
  explicit Forecasts(Rank ranks);

  /// A call begins: which history it belongs to. Every call of the communicator must be told.
  HistoryKey enter(CallKey key);
  /// Who will be late in the call that entered. The history of its place says it, or if that is not
  /// trusted the one of all calls with its key.
  [[nodiscard]] Estimate next(const HistoryKey& history) const;
  /// What a call showed; it may be told later, or not at all. Throws Error as Forecast does.
  void observe(const HistoryKey& history, const Observation& observation);

 private:
  struct Entry {
    Forecast forecast;
    std::uint64_t used;  // the observation that came last
  };

  [[nodiscard]] Estimate alone(const HistoryKey& history) const;
  void add(const HistoryKey& history, const Observation& observation);
  void forget_oldest();

  Rank ranks_;
  CallSequence sequence_;
  std::map<HistoryKey, Entry> entries_;
  std::uint64_t observations_ = 0;
};

}  // namespace latecomer
