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

std::vector<Seconds> Watch::last() const {
  std::vector<Seconds> lateness = arrivals_;
  if (lateness.empty()) return lateness;
  const Seconds earliest = *std::min_element(lateness.begin(), lateness.end());
  for (Seconds& arrival : lateness) arrival -= earliest;
  return lateness;
}

Courier& Watch::begin() {
  stamps_.begin();
  return stamps_;
}

void Watch::arrive(Seconds now) {
  arrived_ = now;
  stamps_.arrive(me_, {arrived_, elapsed_before_});
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
  arrivals_ = std::move(seen.arrivals);
}

}  // namespace latecomer
