#include "runtime/report/savings.hpp"

#include <algorithm>
#include <cmath>

namespace latecomer {
namespace {

constexpr double kNormal = 1.96;  // standard deviations that hold 95 %

/// The same of Student's distribution, relative to the normal one: few calls say little about how
/// much their times differ. By Cornish and Fisher's expansion, at most 4 % too
/// low from 2 degrees of freedom on.
double widening(double freedom) {
  if (freedom < 2) return 6.48;
  return 1 + 1.210 / freedom + 1.440 / (freedom * freedom) + 1.304 / (freedom * freedom * freedom);
}

}  // namespace

void SavedTime::add(const SavedTime& other) {
  saved += other.saved;
  variance += other.variance;
  calls += other.calls;
  rough = rough || other.rough;
}

void Savings::Mean::add(double number) {
  ++count;
  const double before = number - mean;
  mean += before / static_cast<double>(count);
  squares += before * (number - mean);
}

void Savings::Situation::add(By by, Seconds taken) {
  if (by == By::library) {
    library.add(taken);
    stretch.add(taken);
    return;
  }
  handled.add(taken);
  if (stretch.count > 0) stretches.add(stretch.mean);
  stretch = {};
}

/// Within a factor of two; or earlier and later by less than would matter to the call.
bool Savings::Situation::includes(const Timed& call) const {
  if (call.root_last != first.root_last) return false;
  const Seconds apart = std::abs(call.lateness - first.lateness);
  const Seconds usual = library.count > 0 ? library.mean : handled.mean;
  return apart <= std::max(call.lateness, first.lateness) / 2 || apart <= usual / 4;
}

void Savings::add(CallKey key, By by, const std::optional<Timed>& timed) {
  if (classes_.size() == kMaxClasses && !classes_.contains(key)) return;
  Class& all = classes_[key];
  if (by == By::handled) ++(timed ? all.timed : all.untimed);
  if (!timed) return;
  std::vector<Situation>& situations = all.situations;
  auto found = std::find_if(situations.begin(), situations.end(),
                            [&](const Situation& each) { return each.includes(*timed); });
  if (found == situations.end()) {
    if (situations.size() == kMaxSituations) return;
    found = situations.insert(situations.end(), Situation{*timed, {}, {}, {}, {}});
  }
  found->add(by, timed->taken);
}

/// The times of the handled calls are known; the error is that of what the library would have taken
/// in them. Calls that follow each other resemble each other, so a stretch of them is one sample.
/// Two means are unknown, and vary as the samples do: that of the samples, and that of the calls
/// between them.
SavedTime Savings::estimate_of(const Situation& situation) {
  const Mean& library = situation.library;
  const Mean& handled = situation.handled;
  if (library.count < kLeastLibrary || handled.count == 0) return {};
  const auto calls = static_cast<double>(handled.count);
  SavedTime time{calls * (library.mean - handled.mean), 0, handled.count, true};
  Mean stretches = situation.stretches;
  if (situation.stretch.count > 0) stretches.add(situation.stretch.mean);
  if (stretches.count < 2) return time;
  time.rough = false;
  const auto samples = static_cast<double>(stretches.count);
  const double wide = widening(samples - 1);
  const double spread = wide * wide * stretches.squares / (samples - 1);
  time.variance = 2 * calls * calls * spread / samples;
  return time;
}

SavedTime Savings::estimate() const {
  SavedTime all;
  for (const auto& [key, one] : classes_) {
    SavedTime of_class;
    for (const Situation& situation : one.situations) of_class.add(estimate_of(situation));
    if (of_class.calls == 0) continue;
    // Calls whose arrivals are not known came like the others.
    const double more = 1 + static_cast<double>(one.untimed) / static_cast<double>(one.timed);
    of_class.calls =
        static_cast<std::uint64_t>(std::llround(more * static_cast<double>(of_class.calls)));
    of_class.saved *= more;
    of_class.variance *= more * more;
    all.add(of_class);
  }
  return all;
}

Seconds half_range(const SavedTime& saved) { return kNormal * std::sqrt(saved.variance); }

}  // namespace latecomer
