#include "telemetry/watch.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/hash.hpp"

namespace latecomer {
namespace {

/// Of what MPI makes equal on all ranks.
CallKey key_of(const Problem& problem) {
  return fnv1a(std::string(to_string(problem.collective)) + ' ' + std::to_string(problem.bytes()) +
               (problem.commutative ? " commutative" : "") + (problem.exact ? " exact" : ""));
}

/// To 32nds of the imbalance: estimates that differ by less are to give the same plan.
void round_to_parts(std::vector<Seconds>& arrivals) {
  constexpr double kParts = 32;
  const Seconds part = *std::max_element(arrivals.begin(), arrivals.end()) / kParts;
  if (part <= 0) return;
  for (Seconds& arrival : arrivals) arrival = part * std::floor(arrival / part + 0.5);
}

}  // namespace

std::vector<Seconds> Watch::expect(const Problem& problem) {
  history_ = forecasts_.enter(key_of(problem));
  Estimate estimate = forecasts_.next(history_);
  if (!estimate.trusted) return {};
  round_to_parts(estimate.arrivals);
  return estimate.arrivals;
}

Seconds Watch::last_arrival() const {
  return arrivals_.empty() ? 0 : *std::max_element(arrivals_.begin(), arrivals_.end());
}

Courier& Watch::enter(Seconds now) {
  arrived_ = now;
  stamps_.begin();
  stamps_.arrive(me_, {arrived_, elapsed_before_});
  return stamps_;
}

void Watch::leave(Seconds now) {
  elapsed_before_ = static_cast<float>(now - arrived_);
  Observation seen;
  for (std::size_t rank = 0; rank < stamps_.all().size(); ++rank) {
    const Stamp& stamp = stamps_.all()[rank];
    seen.arrivals.push_back(stamp.arrival);
    if (!arrivals_.empty()) seen.exits_before.push_back(arrivals_[rank] + stamp.elapsed_before);
  }
  forecasts_.observe(history_, seen);
  last_ = seen.arrivals;
  const Seconds earliest = *std::min_element(last_.begin(), last_.end());
  for (Seconds& arrival : last_) arrival -= earliest;
  arrivals_ = std::move(seen.arrivals);
}

}  // namespace latecomer
