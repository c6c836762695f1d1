// Who will be late in the next call, from what earlier calls with the same key showed. Ranks that
// are given the same bits answer with the same bits: sums and medians in rank order, no more.
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
  std::vector<Seconds> arrivals;  // after the earliest one; all 0 (balanced) unless trusted
  bool trusted = false;
  std::string_view method = "none";  // signal and estimator, e.g. lateness_periodic
};

/// The forecast of one history: the last patterns of two signals, and how well each of up to 36
/// estimators does on each signal. docs/decisions/0013-forecast.md says why the numbers are what
/// they are.
class Forecast {
 public:
  /// What a history may take, bytes.
  [[nodiscard]] static std::size_t allowance(Rank ranks) {
    return (std::size_t{16} << 10U) + 24 * static_cast<std::size_t>(ranks);
  }
  /// How many patterns of each signal are kept: as many as fit, 2 to 32.
  [[nodiscard]] static int depth(Rank ranks);

  /// Throws Error unless there is a rank.
  explicit Forecast(Rank ranks);

  /// Throws Error, and then keeps nothing of it, for values that are no times of these ranks.
  void observe(const Observation& observation);
  /// The same of one that was checked. `may_search`: whether there is memory for a search.
  void add(const Observation& observation, bool may_search = true);
  [[nodiscard]] Estimate next() const;
  /// Whether next() is trusted; if so, `arrivals` are its.
  [[nodiscard]] bool trusted() const;
  void arrivals(std::span<float> after_earliest) const;
  /// Mean misplacement of the chosen estimator lately, seconds.
  [[nodiscard]] Seconds mean_error() const;
  /// Another one where they may be others.
  [[nodiscard]] std::uint32_t version() const { return version_; }

  /// Bytes.
  [[nodiscard]] std::size_t memory() const;
  /// Bytes that a search takes while it lasts.
  [[nodiscard]] std::size_t search_memory() const;

 private:
  struct Method {
    int signal = 0;
    int estimator = 0;

    bool operator==(const Method&) const = default;
  };
  [[nodiscard]] static Method last_value() { return {}; }  // of lateness
  /// A method that is judged, and how it did.
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
  PatternRows rows_;                   // what is predicted, and the exits it starts from
  std::vector<Candidate> candidates_;
  std::size_t chosen_ = 0;
  // Methods that a later search tries must show themselves over a period like those in use.
  int min_trial_ = 0;
  bool gap_tolerant_ = false;  // all candidates are
  bool computing_ = false;     // a candidate looks at computing time
  bool gaps_ = false;          // observations were left out since the last search
  bool doubted_ = true;        // nothing was proven when the search began
  bool known_ = false;
  std::uint32_t version_ = 0;
  bool proven_ = false;
  int unproven_ = 0;            // observations in a row, counted up to one more than a period has
  int right_ = 0;               // of what was proven: in a row, up to a few
  float predicted_ = 0;         // imbalance
  float recent_imbalance_ = 0;  // largest imbalance of late, fading
  // Of all that was chosen and proven: of 72 methods one is always proven by luck, but not right.
  PredictionRecord<8> own_record_;
};

}  // namespace latecomer
