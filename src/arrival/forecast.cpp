#include "arrival/forecast.hpp"

#include <string>

#include "arrival/pattern.hpp"
#include "base/error.hpp"

namespace latecomer {
namespace {

constexpr int kSignals = 2;
constexpr Seconds kResolution = 1e-9;  // smaller differences are rounding, not lateness
constexpr double kHysteresis = 0.8;    // relative score below which another method is chosen
constexpr double kErrorWeight = 1.0 / 4;

Rank checked(Rank ranks) {
  if (ranks < 1) throw Error("ranks", std::to_string(ranks), "a whole number from 1 up");
  return ranks;
}

/// Of the last predictions; small is good. The window finds the estimator that is best over time,
/// the last two calls leave it at once when it no longer works.
Seconds score(const TrackRecord& record, std::size_t predictions) {
  return record.mean(predictions) + record.recent() + kResolution;
}

/// Compared over the calls that both have predicted: otherwise the one that began later would have
/// been spared what nobody could foresee, such as a first call like no other.
double relative_score(const TrackRecord& record, const TrackRecord& other) {
  const std::size_t both = std::min({record.count(), other.count(), TrackRecord::kWindow});
  return score(record, both) / score(other, both);
}

std::string_view name(int signal, int number) {
  static constexpr std::string_view kNames[kSignals][6] = {
      {"lateness_last_value", "lateness_periodic", "lateness_moving_average",
       "lateness_exponential_average", "lateness_trend", "lateness_shift"},
      {"computing_last_value", "computing_periodic", "computing_moving_average",
       "computing_exponential_average", "computing_trend", "computing_shift"}};
  const int column = number == 0 ? 0 : std::max(1, number - estimator::kMovingAverage + 2);
  return kNames[signal][column];
}

std::vector<Seconds> difference(std::vector<Seconds> times, const std::vector<Seconds>& less) {
  for (std::size_t rank = 0; rank < times.size(); ++rank) times[rank] -= less[rank];
  return times;
}

}  // namespace

Forecast::Forecast(Rank ranks) : ranks_(checked(ranks)), signals_{Signal(ranks), Signal(ranks)} {}

void Forecast::observe(const Observation& observation) {
  check(observation, ranks_);
  const Pattern lateness = pattern_of(observation.arrivals);
  judge_forecast(lateness);
  judge(lateness);
  auto& [as_lateness, as_computing] = signals_;
  as_lateness.estimators.add(lateness);
  if (observation.exits_before.empty()) {
    std::fill(as_computing.exits.begin(), as_computing.exits.end(), 0.0);
    as_computing.estimators.add(lateness);
  } else {
    // The exits of the call that is over are not known yet: the next ones are taken to be alike.
    as_computing.exits = pattern_of(observation.exits_before);
    as_computing.estimators.add(
        pattern_of(difference(observation.arrivals, observation.exits_before)));
  }
  choose();
}

/// Keeps how far each estimator was from what happened.
void Forecast::judge(const Pattern& lateness) {
  Pattern expected(lateness.size());
  for (int signal = 0; signal < kSignals; ++signal) {
    Signal& one = signals_[static_cast<std::size_t>(signal)];
    for (int number = 0; number < estimator::kCount; ++number) {
      if (!one.estimators.ready(number)) continue;
      predict({signal, number}, expected);
      one.records[static_cast<std::size_t>(number)].add(misplacement(expected, lateness),
                                                        imbalance(expected));
    }
  }
}

/// Keeps how wrong the chosen method was, and whether it could be believed where it was proven.
void Forecast::judge_forecast(const Pattern& lateness) {
  if (predicted_.empty()) return;
  const Seconds error = mean_absolute_error(predicted_, lateness);
  error_ += (judged_++ == 0 ? 1 : kErrorWeight) * (error - error_);
  if (proven_) own_record_.add(imbalance(predicted_), misplacement(predicted_, lateness));
}

void Forecast::choose() {
  Method best = chosen_;
  double least = kHysteresis;
  for (int signal = 0; signal < kSignals; ++signal) {
    for (int number = 0; number < estimator::kCount; ++number) {
      const Method method{signal, number};
      if (!tried(method)) continue;
      const double relative = relative_score(record(method), record(chosen_));
      if (relative >= least) continue;
      least = relative;
      best = method;
    }
  }
  chosen_ = best;
  predicted_.resize(static_cast<std::size_t>(ranks_));
  predict(chosen_, predicted_);
  proven_ = tried(chosen_) && record(chosen_).proven(imbalance(predicted_));
}

void Forecast::predict(Method method, Pattern& lateness) const {
  const Signal& signal = signals_[static_cast<std::size_t>(method.signal)];
  signal.estimators.predict(method.estimator, lateness);
  for (std::size_t rank = 0; rank < lateness.size(); ++rank) lateness[rank] += signal.exits[rank];
}

const TrackRecord& Forecast::record(Method method) const {
  return signals_[static_cast<std::size_t>(method.signal)]
      .records[static_cast<std::size_t>(method.estimator)];
}

bool Forecast::tried(Method method) const {
  return record(method).count() >= static_cast<std::size_t>(estimator::trial(method.estimator));
}

Estimate Forecast::next() const {
  Estimate estimate{.arrivals = Pattern(static_cast<std::size_t>(ranks_))};
  if (predicted_.empty()) return estimate;
  estimate.error = error_;
  estimate.method = name(chosen_.signal, chosen_.estimator);
  estimate.trusted = proven_ && own_record_.few_wrong(imbalance(predicted_));
  if (!estimate.trusted) return estimate;
  const Seconds earliest = *std::min_element(predicted_.begin(), predicted_.end());
  for (std::size_t rank = 0; rank < predicted_.size(); ++rank) {
    estimate.arrivals[rank] = predicted_[rank] - earliest;
  }
  return estimate;
}

}  // namespace latecomer
