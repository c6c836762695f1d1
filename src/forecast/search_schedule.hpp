// How closely a history is looked at. Judging every estimator in every call costs more than many
// calls take, so it is done in searches, with pauses that grow where they find nothing new.
#pragma once

#include <algorithm>

namespace latecomer {

/// What is done with an observation, each including those before.
enum class Evaluation {
  forecast_only,  // the forecast is judged
  few,            // the pattern is kept, the best few estimators are judged
  all             // every estimator is
};

/// How a call was, beside what was forecast.
enum class Surprise {
  none,
  some,  // farther off than usual
  large  // a forecast was wrong that had long been right, or nobody was known to be late and ranks
         // were much later than lately
};

class SearchSchedule {
 public:
  /// A history of `depth` patterns begins: with a search.
  explicit SearchSchedule(int depth) : length_(std::max(4 * depth, kMinSearch)), left_(length_) {}

  /// For the observation that comes now. `dispensable`: leaving it out harms no estimator in use.
  /// `may_search`: whether one may begin.
  Evaluation next(Surprise surprise, bool dispensable, bool may_search);

  [[nodiscard]] bool searching() const { return left_ > 0; }
  /// A search is over. `found`: an estimator that can be believed, where there was none.
  void finish_search(bool found);

 private:
  // Three periods of the longest one, and some: a search must see it come, go and come again.
  static constexpr int kMinSearch = 32;
  static constexpr int kLongestPause = 64;  // searches
  static constexpr int kEarly = 4;          // after such a part of a pause a large surprise ends it
  static constexpr int kAlert = 8;          // observations after a surprise
  // Of observations like the others, one in so many is looked at: soon after a search, and later.
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
