// Schedules how thoroughly a history's observations are evaluated. To judge every estimator in
// every call takes longer than many calls, so it is done in searches, with pauses that grow while
// searches find nothing new.
#pragma once

#include <algorithm>

namespace latecomer {

/// The evaluation of an observation; each includes those before.
enum class Evaluation {
  forecast_only,  // judges the forecast
  few,            // keeps the pattern, judges the best few estimators
  all             // judges every estimator
};

/// The difference of a call from its forecast.
enum class Surprise {
  none,
  some,  // farther off than usual
  large  // a forecast was wrong that had long been right, or no rank was known to be late and ranks
         // were much later than lately
};

class SearchSchedule {
 public:
  /// Creates the schedule of a history of `depth` patterns. `searches`: it begins with a search;
  /// otherwise one follows when it may.
  explicit SearchSchedule(int depth, bool searches = true)
      : length_(std::max(4 * depth, kMinSearch)), left_(searches ? length_ : 0) {}

  /// Returns the evaluation of the next observation. `dispensable`: leaving it out harms no
  /// estimator in use. `may_search`: a search may begin.
  Evaluation next(Surprise surprise, bool dispensable, bool may_search);

  [[nodiscard]] bool searching() const { return left_ > 0; }
  /// Ends a search. `found`: it found a credible estimator where there was none.
  void finish_search(bool found);

 private:
  // Three periods of the longest one, and some: a search must see it come, go and come again.
  static constexpr int kMinSearch = 32;
  static constexpr int kLongestPause = 64;  // searches
  static constexpr int kEarly = 4;          // after such a part of a pause a large surprise ends it
  static constexpr int kAlert = 8;          // observations after a surprise
  // While observations are alike, every kEvery-th is evaluated soon after a search, later every
  // kSeldom-th.
  static constexpr int kEvery = 4;
  static constexpr int kSeldom = 8;

  int length_;           // of a search, observations
  int left_;             // of the search, 0 in a pause
  int pause_ = 0;        // observations; 0 before the first
  bool wanted_ = false;  // another search, since a large surprise
  int rested_ = 0;
  int alert_ = 0;
};

}  // namespace latecomer
