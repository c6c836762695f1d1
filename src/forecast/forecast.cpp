#include "forecast/forecast.hpp"

#include <string>

#include "base/error.hpp"
#include "forecast/pattern.hpp"

namespace latecomer {
namespace {

constexpr int kLateness = 0;
constexpr int kComputing = 1;
constexpr int kSignals = 2;

constexpr int kPredicted = 0;
constexpr int kExits = 1;
constexpr int kRows = 2;

// The memory of a history besides a byte a rank, its patterns and candidates.
constexpr std::size_t kBeside = sizeof(Forecast) + 256;
constexpr int kShortest = 2;           // patterns that the shift needs
constexpr Seconds kResolution = 1e-9;  // smaller differences are rounding, not lateness
constexpr double kHysteresis = 0.8;    // relative score below which another method is chosen
constexpr double kMuchWorse = 2;       // relative score
constexpr std::size_t kFew = 3;        // methods judged between searches
constexpr double kUnusual = 2;         // times the usual value
constexpr int kBelieved = 8;           // forecasts in a row that came true: no luck
constexpr float kFading = 31.0F / 32;

Rank checked(Rank ranks) {
  if (ranks < 1) throw Error("ranks", std::to_string(ranks), "a whole number from 1 up");
  return ranks;
}

std::size_t patterns_memory(Rank ranks, int depth) {
  return kSignals * PatternHistory::memory(ranks, depth) + PatternRows::memory(ranks, kRows);
}

/// Scores the last predictions; small is good. The window finds the estimator that is best over
/// time; the last two calls drop it at once when it no longer works.
Seconds score(const TrackRecord& record, std::size_t predictions) {
  return record.mean(predictions) + record.recent() + kResolution;
}

/// Compares scores over the calls that both have predicted: otherwise the estimator that began
/// later would be spared errors that none could foresee, such as a first call like no other.
double relative_score(const TrackRecord& record, const TrackRecord& other) {
  const std::size_t both = std::min({record.count(), other.count(), TrackRecord::kWindow});
  return score(record, both) / score(other, both);
}

std::string_view name(int signal, int number, int depth) {
  static constexpr std::string_view kNames[kSignals][6] = {
      {"lateness_last_value", "lateness_periodic", "lateness_moving_average",
       "lateness_exponential_average", "lateness_trend", "lateness_shift"},
      {"computing_last_value", "computing_periodic", "computing_moving_average",
       "computing_exponential_average", "computing_trend", "computing_shift"}};
  const int column = number == 0 ? 0 : std::max(1, number - depth + 2);
  return kNames[signal][column];
}

}  // namespace

int Forecast::depth(Rank ranks) {
  int depth = PatternHistory::kLongest;
  const auto memory = [&] {
    const EstimatorNumbers numbers{depth};
    return kBeside + static_cast<std::size_t>(ranks) + patterns_memory(ranks, depth) +
           static_cast<std::size_t>(kSignals * numbers.count()) * sizeof(Candidate);
  };
  while (depth > kShortest && memory() > allowance(ranks)) --depth;
  return depth;
}

Forecast::Forecast(Rank ranks, bool searches)
    : ranks_(checked(ranks)),
      numbers_{depth(ranks)},
      schedule_(numbers_.depth, searches),
      signals_{Estimators(ranks, numbers_.depth), Estimators(ranks, numbers_.depth)},
      rows_(ranks, kRows),
      candidates_{{last_value(), {}}} {
  candidates_.reserve(kFew);  // it takes no more later, but for a search
  if (searches) begin_search();
}

void Forecast::observe(const Observation& observation) {
  check(observation, ranks_);
  add(observation);
}

void Forecast::add(const Observation& observation, bool may_search) {
  const std::span<float> lateness = scratch_row(ScratchRow::lateness, rows_.ranks());
  pattern_of(observation.arrivals, lateness);
  const bool searched = schedule_.searching();
  const Evaluation evaluation = schedule_.next(judge_forecast(lateness), gap_tolerant_, may_search);
  if (evaluation == Evaluation::forecast_only) {
    gaps_ = true;
    return;
  }
  if (schedule_.searching() && !searched) begin_search();
  judge(lateness);
  keep(observation, lateness);
  choose();
  if (schedule_.searching()) return;
  if (evaluation == Evaluation::all) {
    end_search();
    choose();
  }
  if (unproven_ > numbers_.depth && !gap_tolerant_) keep_gap_tolerant();
}

/// Records how wrong the forecast was if it was proven. Returns how surprising that is.
Surprise Forecast::judge_forecast(Pattern lateness) {
  const float width = imbalance(lateness);
  const bool wider = width > kUnusual * recent_imbalance_ + kResolution;
  recent_imbalance_ = std::max(width, kFading * recent_imbalance_);
  if (!proven_) {
    unproven_ = std::min(unproven_ + 1, numbers_.depth + 1);
    return wider ? Surprise::large : Surprise::none;
  }
  unproven_ = 0;
  const std::span<float> expected = scratch_row(ScratchRow::expected, rows_.ranks());
  rows_.read(kPredicted, expected);
  const float missed = misplacement(Pattern(expected), lateness);
  own_record_.add(predicted_, missed);
  const bool believed = right_ >= kBelieved;
  const bool wrong = missed >= kFit * predicted_;
  right_ = wrong ? 0 : std::min(right_ + 1, kBelieved);
  if (wrong && believed) return Surprise::large;
  return missed > kUnusual * mean_error() + kResolution ? Surprise::some : Surprise::none;
}

/// Records the misplacement of each candidate's prediction.
void Forecast::judge(Pattern lateness) {
  const std::span<float> expected = scratch_row(ScratchRow::expected, rows_.ranks());
  for (Candidate& candidate : candidates_) {
    const Method method = candidate.method;
    if (!signals_[static_cast<std::size_t>(method.signal)].ready(method.estimator)) continue;
    predict(method, expected);
    candidate.record.add(misplacement(Pattern(expected), lateness), imbalance(expected));
  }
}

void Forecast::keep(const Observation& observation, Pattern lateness) {
  auto& [as_lateness, as_computing] = signals_;
  as_lateness.add(lateness);
  if (!computing_) return;
  if (observation.exits_before.empty()) {
    rows_.clear(kExits);
    as_computing.add(lateness);
    return;
  }
  // The exits of the call at hand are not known yet: they are taken to be like the last ones.
  const std::span<float> pattern = scratch_row(ScratchRow::computing, rows_.ranks());
  pattern_of(observation.exits_before, pattern);
  rows_.write(kExits, pattern);
  pattern_of(observation.arrivals, observation.exits_before, pattern);
  as_computing.add(pattern);
}

void Forecast::choose() {
  std::size_t best = chosen_;
  double min = kHysteresis;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (!tried(candidates_[i])) continue;
    const double relative = relative_score(candidates_[i].record, chosen().record);
    if (relative >= min) continue;
    min = relative;
    best = i;
  }
  chosen_ = best;
  const std::span<float> expected = scratch_row(ScratchRow::expected, rows_.ranks());
  predict(chosen().method, expected);
  rows_.write(kPredicted, expected);
  predicted_ = imbalance(expected);
  known_ = true;
  ++version_;
  proven_ = tried(chosen()) && chosen().record.proven(predicted_);
}

/// Makes all methods candidates; those that were not begin with an empty record.
void Forecast::begin_search() {
  std::vector<Method> all;
  for (int signal = 0; signal < kSignals; ++signal) {
    for (int number = 0; number < numbers_.count(); ++number) all.push_back({signal, number});
  }
  consider(all);
  doubted_ = unproven_ > numbers_.depth;
  if (gaps_) signals_[kLateness].note_gap();
  gaps_ = false;
}

/// Chooses a gap-tolerant method that is proven as well, unless its error is much larger, or larger
/// where exits change: with it most calls need no evaluation.
void Forecast::prefer_gap_tolerant() {
  const Candidate current = chosen();
  double min = current.method.signal == kComputing ? 1 / kHysteresis : kMuchWorse;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& one = candidates_[i];
    if (!gap_tolerant(one.method) || !tried(one) || !one.record.proven(predicted_)) continue;
    const double relative = relative_score(one.record, current.record);
    if (relative >= min) continue;
    min = relative;
    chosen_ = i;
  }
}

/// Keeps the chosen method, the last value, which notices a change first, and the best others.
void Forecast::end_search() {
  if (proven_ && !gap_tolerant(chosen().method)) prefer_gap_tolerant();
  const Candidate current = chosen();
  schedule_.finish_search(doubted_ && proven_);
  min_trial_ = numbers_.depth;
  if (gap_tolerant(current.method)) return keep_gap_tolerant();
  std::vector<std::pair<double, Method>> order;
  for (const Candidate& one : candidates_) {
    const bool stays = one.method == current.method || one.method == last_value();
    if (!stays && !tried(one)) continue;
    order.emplace_back(stays ? 0 : relative_score(one.record, current.record), one.method);
  }
  std::ranges::stable_sort(order, {}, &std::pair<double, Method>::first);
  std::vector<Method> few;
  for (std::size_t i = 0; i < std::min(kFew, order.size()); ++i) few.push_back(order[i].second);
  consider(few);
}

/// Keeps the gap-tolerant methods alone: the chosen one is one of them, or nothing was proven for
/// long.
void Forecast::keep_gap_tolerant() {
  consider({last_value(),
            {kLateness, numbers_.moving_average()},
            {kLateness, numbers_.exponential_average()}});
}

/// Makes these methods the candidates; the chosen one stays chosen, otherwise the first is.
void Forecast::consider(const std::vector<Method>& methods) {
  std::vector<Candidate> kept;
  kept.reserve(methods.size());
  const Method current = chosen().method;
  chosen_ = 0;
  for (const Method method : methods) {
    if (method == current) chosen_ = kept.size();
    const auto known = std::ranges::find(candidates_, method, &Candidate::method);
    kept.push_back(known == candidates_.end() ? Candidate{method, {}} : *known);
  }
  candidates_ = std::move(kept);
  const bool before = computing_;
  computing_ = std::ranges::any_of(
      candidates_, [](const Candidate& one) { return one.method.signal == kComputing; });
  if (computing_ && !before) signals_[kComputing].note_gap();
  gap_tolerant_ = std::ranges::all_of(
      candidates_, [&](const Candidate& one) { return gap_tolerant(one.method); });
}

void Forecast::predict(Method method, std::span<float> lateness) const {
  signals_[static_cast<std::size_t>(method.signal)].predict(method.estimator, lateness);
  if (method.signal == kComputing) rows_.add(kExits, lateness);
}

/// True if leaving out calls like those before harms neither the method nor its predictions.
bool Forecast::gap_tolerant(Method method) const {
  return method.signal == kLateness && numbers_.gap_tolerant(method.estimator);
}

bool Forecast::tried(const Candidate& candidate) const {
  const int trial = std::max(numbers_.trial(candidate.method.estimator), min_trial_);
  return candidate.record.count() >= static_cast<std::size_t>(trial);
}

Seconds Forecast::mean_error() const {
  const TrackRecord& record = chosen().record;
  if (record.count() == 0) return 0;
  return record.mean(std::min(record.count(), TrackRecord::kWindow));
}

bool Forecast::trusted() const { return proven_ && own_record_.few_wrong(predicted_); }

void Forecast::arrivals(std::span<float> after_earliest) const {
  rows_.read(kPredicted, after_earliest);
  const float earliest = extremes_of(Pattern(after_earliest)).min;
  for (float& arrival : after_earliest) arrival -= earliest;
}

Estimate Forecast::next() const {
  Estimate estimate{.arrivals = std::vector<Seconds>(rows_.ranks())};
  if (!known_) return estimate;
  estimate.method = name(chosen().method.signal, chosen().method.estimator, numbers_.depth);
  estimate.trusted = trusted();
  if (!estimate.trusted) return estimate;
  const std::span<float> after_earliest = scratch_row(ScratchRow::expected, rows_.ranks());
  arrivals(after_earliest);
  std::copy(after_earliest.begin(), after_earliest.end(), estimate.arrivals.begin());
  return estimate;
}

std::size_t Forecast::memory() const {
  return sizeof(Forecast) + patterns_memory(ranks_, numbers_.depth) +
         candidates_.capacity() * sizeof(Candidate);
}

std::size_t Forecast::search_memory() const {
  return static_cast<std::size_t>(kSignals * numbers_.count()) * sizeof(Candidate);
}

}  // namespace latecomer
