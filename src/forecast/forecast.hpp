// The forecast of the next call's arrivals, by the observations of earlier calls with the same key.
// Ranks with the same bits as input compute the same bits: only sums and medians in rank order.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "forecast/estimators.hpp"
#include "forecast/observation.hpp"
#include "forecast/search_schedule.hpp"
#include "forecast/track_record.hpp"

namespace latecomer {

struct Estimate {
  std::vector<Seconds> arrivals;  // after the earliest; all 0 (balanced) unless trusted
  bool trusted = false;
  std::string_view method = "none";  // signal and estimator, e.g. lateness_periodic
};

/// The forecast of one history: the last patterns of two signals, and how well each of up to 36
/// estimators does on each signal. docs/decisions/0013-forecast.md says why the numbers are what
/// they are.
class Forecast {
 public:
  /// The memory that a history may take, bytes.
  [[nodiscard]] static std::size_t allowance(Rank ranks) {
    return (std::size_t{16} << 10U) + 24 * static_cast<std::size_t>(ranks);
  }
  /// The number of patterns kept of each signal: as many as fit, 2 to 32.
  [[nodiscard]] static int depth(Rank ranks);

  /// `searches`: it begins with a search, which takes memory; otherwise with the last value alone.
  /// Throws Error unless there is a rank.
  explicit Forecast(Rank ranks, bool searches = true);

  /// Adds an observation. Throws Error, and keeps nothing of it, if the values are no times of
  /// these ranks.
  void observe(const Observation& observation);
  /// Adds an observation that was checked. `may_search`: there is memory for a search.
  void add(const Observation& observation, bool may_search = true);
  [[nodiscard]] Estimate next() const;
  /// True if next() is trusted; arrivals() gives the same arrivals without allocating.
  [[nodiscard]] bool trusted() const;
  void arrivals(std::span<float> after_earliest) const;
  /// The mean misplacement of the chosen estimator's recent predictions, seconds.
  [[nodiscard]] Seconds mean_error() const;
  /// Changes whenever the arrivals may have changed.
  [[nodiscard]] std::uint32_t version() const { return version_; }

  [[nodiscard]] bool searching() const { return schedule_.searching(); }
  /// The memory taken, bytes.
  [[nodiscard]] std::size_t memory() const;
  /// The memory that a search takes while it lasts, bytes.
  [[nodiscard]] std::size_t search_memory() const;

 private:
  struct Method {
    int signal = 0;
    int estimator = 0;

    bool operator==(const Method&) const = default;
  };
  [[nodiscard]] static Method last_value() { return {}; }  // of lateness
  /// A method under judgement, and its record.
  struct Candidate {
    Method method;
    TrackRecord record;
  };
  using Pattern = std::span<const float>;

  Surprise judge_forecast(Pattern lateness);
  void judge(Pattern lateness);
  void keep(const Observation& observation, Pattern lateness);
  void choose();
  void begin_search();
  void prefer_gap_tolerant();
  void end_search();
  void keep_gap_tolerant();
  void consider(const std::vector<Method>& methods);
  void predict(Method method, std::span<float> lateness) const;
  [[nodiscard]] const Candidate& chosen() const { return candidates_[chosen_]; }
  [[nodiscard]] bool gap_tolerant(Method method) const;
  [[nodiscard]] bool tried(const Candidate& candidate) const;

  Rank ranks_;
  EstimatorNumbers numbers_;
  SearchSchedule schedule_;
  std::array<Estimators, 2> signals_;  // lateness, computing time
  PatternRows rows_;                   // the prediction, and the exits that it starts from
  std::vector<Candidate> candidates_;
  std::size_t chosen_ = 0;
  // Methods that a later search tries must prove themselves over a whole period, like those in use.
  int min_trial_ = 0;
  bool gap_tolerant_ = false;  // all candidates are gap-tolerant
  bool computing_ = false;     // a candidate looks at computing time
  bool gaps_ = false;          // observations were left out since the last search
  bool doubted_ = true;        // nothing was proven when the search began
  bool known_ = false;
  std::uint32_t version_ = 0;
  bool proven_ = false;
  int unproven_ = 0;            // observations in a row, counted up to one more than a period has
  int right_ = 0;               // proven predictions in a row that came true, up to a few
  float predicted_ = 0;         // imbalance
  float recent_imbalance_ = 0;  // the largest of late, fading
  // The record of all predictions that were chosen and proven: among 72 methods one is always
  // proven by luck, but will then be wrong.
  PredictionRecord<8> own_record_;
};

}  // namespace latecomer
