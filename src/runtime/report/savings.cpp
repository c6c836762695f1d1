#include "runtime/report/savings.hpp"

#include <algorithm>
#include <cmath>

namespace latecomer {
namespace {

constexpr double kNormal = 1.96;  // standard deviations that hold 95 %

/// The same of Student's distribution, relative to the normal one: few calls say little about how
/// much their times differ. By Cornish and Fisher's expansion, within 4 % from 2 degrees of freedom
/// on.
double widening(double freedom) {
  return 1 + 1.210 / freedom + 1.440 / (freedom * freedom) + 1.304 / (freedom * freedom * freedom);
}

}  // namespace

void SavedTime::add(const SavedTime& other) {
  saved += other.saved;
  variance += other.variance;
  calls += other.calls;
}

void Savings::Times::add(Seconds taken) {
  ++calls;
  const double before = taken - mean;
  mean += before / static_cast<double>(calls);
  squares += before * (taken - mean);
}

/// Within a factor of two; or earlier and later by less than would matter to the call.
bool Savings::Situation::includes(const Timed& call) const {
  if (call.root_last != first.root_last) return false;
  const Seconds apart = std::abs(call.lateness - first.lateness);
  const Seconds usual = library.calls > 0 ? library.mean : handled.mean;
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
    found = situations.insert(situations.end(), Situation{*timed, {}, {}});
  }
  (by == By::handled ? found->handled : found->library).add(timed->taken);
}

/// The handled calls are known one by one: the error is that of what the library would have taken
/// in them.
SavedTime Savings::estimate_of(const Situation& situation) {
  const Times& library = situation.library;
  const Times& handled = situation.handled;
  if (library.calls < kLeastLibrary || handled.calls == 0) return {};
  const auto tried = static_cast<double>(library.calls);
  const auto calls = static_cast<double>(handled.calls);
  const double wide = widening(tried - 1);
  const double spread = wide * wide * library.squares / (tried - 1);
  return {calls * (library.mean - handled.mean), spread * (calls * calls / tried + calls),
          handled.calls};
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
