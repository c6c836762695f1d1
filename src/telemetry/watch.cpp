#include "telemetry/watch.hpp"

#include <algorithm>
#include <numeric>

namespace latecomer {
namespace {

Seconds mean(const std::vector<Seconds>& times) {
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

}  // namespace

const std::vector<Seconds>& Watch::expect(const Problem& problem) {
  history_ = forecasts_.enter(call_class(problem));
  forecasts_this_ = true;
  return forecasts_.expect(history_);
}

void Watch::enter_class(const Problem& problem) {
  history_ = {call_class(problem)};
  forecasts_this_ = false;
}

Seconds Watch::last_arrival() const {
  return arrivals_.empty() ? 0 : *std::max_element(arrivals_.begin(), arrivals_.end());
}

Courier& Watch::begin() {
  stamps_.begin();
  return stamps_;
}

Courier& Watch::tell_of(Seconds arrived, Seconds left) {
  arrived_ = arrived;
  left_ = left;
  stamps_.begin();
  stamps_.arrive(me_, {arrived, before_.elapsed, static_cast<float>(left - arrived)});
  return stamps_;
}

void Watch::arrive(Seconds now) {
  arrived_ = now;
  stamps_.arrive(me_, {now, before_.elapsed});
}

void Watch::leave(Seconds now) {
  left_ = now;
  observe();
  taken_.reset();
  before_.exits.clear();
  before_.elapsed = static_cast<float>(now - arrived_);
  before_.watched = true;
}

void Watch::told() {
  observe();
  before_.exits.clear();
  for (const Stamp& stamp : stamps_.all()) before_.exits.push_back(stamp.arrival + stamp.elapsed);
  before_.elapsed = 0;
  before_.watched = true;
  taken_ = mean(before_.exits) - last_arrival();
}

void Watch::miss() {
  before_.exits.clear();
  before_.elapsed = 0;
  before_.watched = false;
}

/// Memory is kept from call to call.
void Watch::observe() {
  seen_.arrivals.clear();
  seen_.exits_before = before_.exits;
  const bool told_now = before_.watched && before_.exits.empty();
  for (std::size_t rank = 0; rank < stamps_.all().size(); ++rank) {
    const Stamp& stamp = stamps_.all()[rank];
    seen_.arrivals.push_back(stamp.arrival);
    if (told_now) seen_.exits_before.push_back(arrivals_[rank] + stamp.elapsed_before);
  }
  taken_before_.reset();
  if (told_now) taken_before_ = mean(seen_.exits_before) - last_arrival();
  if (forecasts_this_) forecasts_.observe(history_, seen_);
  arrivals_ = seen_.arrivals;
  lateness_ = arrivals_;
  const Seconds earliest = *std::min_element(lateness_.begin(), lateness_.end());
  for (Seconds& arrival : lateness_) arrival -= earliest;
}

}  // namespace latecomer
