// The forecasts of a communicator's calls: one for each key, and one more for each position in the
// sequence of calls where the key alone is ambiguous.
#pragma once

#include <limits>
#include <map>

#include "forecast/call_sequence.hpp"
#include "forecast/estimators.hpp"
#include "forecast/pattern.hpp"

namespace latecomer {

// The forecast of the next call's arrivals, by the observations of earlier calls with the same key.
// Ranks with the same bits as input compute the same bits: no clock, no messages.

/// One call; seconds on a clock that the ranks share, one value a rank. It may start anywhere.
struct Observation {
  std::vector<Seconds> arrivals;
  /// The exits from the communicator's call before, of whatever key. Empty: there was none, or they
  /// are not known; then the ranks count as having left it together.
  std::vector<Seconds> exits_before;
};

struct Estimate {
  std::vector<Seconds> arrivals;  // after the earliest; all 0 (balanced) unless trusted
  bool trusted = false;
  std::string_view method = "none";  // the estimator, e.g. lateness_periodic
};

/// How much imbalance was claimed, and how much of it wrongly; old and small claims hardly count.
struct Claims {
  float all = 0;
  float wrong = 0;  // up to twice what was claimed: another rank was late instead
  void add(float claim, float misplaced) {
    all = kFading * all + claim;
    wrong = kFading * wrong + (misplaced < kFit * claim ? 0 : std::min(misplaced, 2 * claim));
  }
  [[nodiscard]] bool few_wrong(float claim) const { return wrong <= kWrong * std::max(all, claim); }
};

/// How wrong an estimator was, seconds.
struct TrackRecord {
  float mean = 0;  // misplacement
  float before = std::numeric_limits<float>::infinity();
  float last = std::numeric_limits<float>::infinity();
  Claims claims;
  void add(float misplaced, float predicted) {
    claims.add(claim(predicted), misplaced);
    mean += (misplaced - mean) / kMemory;
    before = last;
    last = misplaced;
  }
  [[nodiscard]] float recent() const { return std::max(before, last); }
  /// Small is good. The mean finds the estimator that is best over time; the last two calls drop it
  /// at once when it no longer works.
  [[nodiscard]] float score() const { return mean + recent(); }
  /// What it claims if it predicts so much imbalance, or 0: in the last two calls it was right
  /// enough that the ranks predicted to be last came after all those in the earlier half of it.
  [[nodiscard]] float claim(float predicted) const {
    constexpr float kRounding = 1e-9F;  // less is no lateness
    return recent() + kRounding < kFit * predicted ? predicted : 0;
  }
};

/// The forecast of one history: who is last, and by how much. docs/decisions/0013-forecast.md says
/// why the numbers are what they are.
class Forecast {
 public:
  /// The memory that a history may take, bytes, and that it takes.
  [[nodiscard]] static std::size_t allowance(Rank ranks);
  [[nodiscard]] static std::size_t memory(Rank ranks);
  /// The number of patterns kept: as many as fit, 2 to 32.
  [[nodiscard]] static int depth(Rank ranks);
  /// Throws Error unless there is a rank.
  explicit Forecast(Rank ranks);

  /// Throws Error naming the first value that is no time, or a length that does not fit the ranks;
  /// then it keeps nothing of it.
  void observe(const Observation& observation);
  [[nodiscard]] Estimate next() const;
  [[nodiscard]] bool trusted() const {
    return claim_ > 0 && records_[chosen_].claims.all >= kFit * claim_ &&
           records_[chosen_].claims.few_wrong(claim_) && claims_.few_wrong(claim_);
  }
  /// The arrivals of next() if it is trusted.
  [[nodiscard]] PatternView arrivals() const { return arrivals_; }
  /// The mean misplacement of the chosen estimator's predictions, seconds.
  [[nodiscard]] Seconds mean_error() const { return records_[chosen_].mean; }

 private:
  void judge(PatternView lateness);
  void choose();

  std::size_t ranks_;
  Estimators estimators_;
  std::array<TrackRecord, kEstimators.size()> records_{};
  std::size_t chosen_ = 0;       // the estimator
  std::vector<float> arrivals_;  // by it; empty before the first observation
  float claim_ = 0;              // its
  Claims claims_;                // of those chosen: luck does not last
};

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
    std::uint64_t used = 0;      // the last observation
    std::uint64_t observed = 0;  // how many there were
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
