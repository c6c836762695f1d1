#include "telemetry/watch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>

namespace latecomer {
namespace {

struct Entry {
  std::uint32_t rank;
  float elapsed_before;
  float elapsed;
  std::array<std::uint32_t, 2> arrival;  // a double, without the gap that one would leave
};
static_assert(sizeof(Entry) <= Piggyback::kMaxBytesPerRank);

Seconds mean(const std::vector<Seconds>& times) {
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

}  // namespace

void ArrivalStamps::begin() {
  heard_.assign(stamps_.size(), false);
  known_.clear();
}

void ArrivalStamps::learn(Rank rank, const ArrivalStamp& stamp) {
  const auto at = static_cast<std::size_t>(rank);
  if (heard_[at]) return;
  heard_[at] = true;
  stamps_[at] = stamp;
  known_.push_back(rank);
}

void ArrivalStamps::pack(std::vector<char>& to) {
  const std::size_t before = to.size();
  to.resize(before + known_.size() * sizeof(Entry));
  char* next = to.data() + before;
  for (const Rank rank : known_) {
    const ArrivalStamp& stamp = stamps_[static_cast<std::size_t>(rank)];
    const Entry entry{static_cast<std::uint32_t>(rank), stamp.elapsed_before, stamp.elapsed,
                      std::bit_cast<std::array<std::uint32_t, 2>>(stamp.arrival)};
    std::memcpy(next, &entry, sizeof entry);
    next += sizeof entry;
  }
}

void ArrivalStamps::unpack(const char* data, std::size_t bytes) {
  for (; bytes >= sizeof(Entry); data += sizeof(Entry), bytes -= sizeof(Entry)) {
    Entry entry{};
    std::memcpy(&entry, data, sizeof entry);
    if (entry.rank >= stamps_.size()) return;
    learn(static_cast<Rank>(entry.rank),
          {std::bit_cast<double>(entry.arrival), entry.elapsed_before, entry.elapsed});
  }
}

void Synchrony::learn(const std::vector<Seconds>& exits, const std::vector<Seconds>& next) {
  const bool first = usual_.empty();
  usual_.resize(exits.size());
  const Seconds mean_exit = mean(exits);
  const Seconds mean_next = mean(next);
  const double renewal = first ? 1 : kRenewal;
  variance_ -= renewal * variance_;
  covariance_ -= renewal * covariance_;
  for (std::size_t rank = 0; rank < exits.size(); ++rank) {
    const Seconds exit = exits[rank] - mean_exit - usual_[rank].exit;
    const Seconds arrival = next[rank] - mean_next - usual_[rank].arrival;
    usual_[rank].exit += renewal * exit;
    usual_[rank].arrival += renewal * arrival;
    if (first) continue;  // it tells what is usual
    variance_ += exit * exit;
    covariance_ += exit * arrival;
  }
  if (variance_ > 0) estimate_ = 1 - std::clamp(covariance_ / variance_, 0.0, 1.0);
}

const std::vector<Seconds>& Watch::expect(const Problem& problem) {
  history_ = forecasts_.enter(class_key(problem));
  forecasts_this_ = true;
  return forecasts_.expect(history_);
}

void Watch::enter_class(const Problem& problem) {
  history_ = {class_key(problem)};
  forecasts_this_ = false;
}

Seconds Watch::last_arrival() const {
  const std::vector<Seconds>& arrivals = seen_.arrivals;
  return arrivals.empty() ? 0 : *std::max_element(arrivals.begin(), arrivals.end());
}

Seconds Watch::waited(bool by_all) const {
  Seconds until = arrived_;
  for (const Seconds arrival : seen_.arrivals) {
    if (by_all || arrival <= left_) until = std::max(until, arrival);
  }
  return std::max(std::min(until, left_) - arrived_, 0.0);
}

/// Of the call that `seen_` has both the arrivals and the exits of.
Taken Watch::taken_until_exits() const {
  const std::vector<Seconds>& exits = seen_.exits_before;
  const auto last = std::ranges::max_element(seen_.arrivals);
  const Seconds sum = std::accumulate(exits.begin(), exits.end(), 0.0);
  const auto on_last = exits[static_cast<std::size_t>(last - seen_.arrivals.begin())];
  const Seconds mean = sum / static_cast<double>(exits.size());
  return {mean - *last, on_last - *last};
}

/// The call's last arrival was `last_before`. If ranks wait for each other after it, its last exit
/// counts. If each goes on by itself, the next last arrival does, without the longest time that a
/// rank was between the calls.
Seconds Watch::cost_until_arrivals(Seconds last_before) {
  const std::vector<Seconds>& exits = seen_.exits_before;
  Seconds longest = 0;
  for (std::size_t rank = 0; rank < exits.size(); ++rank) {
    longest = std::max(longest, seen_.arrivals[rank] - exits[rank]);
  }
  synchrony_.learn(exits, seen_.arrivals);
  const Seconds together = std::ranges::max(exits) - last_before;
  const Seconds alone = last_arrival() - last_before - longest;
  return synchrony_.estimate() * together + (1 - synchrony_.estimate()) * alone;
}

Piggyback& Watch::begin() {
  stamps_.begin();
  return stamps_;
}

Piggyback& Watch::begin_exchange(Seconds arrived, Seconds left, Seconds deciding) {
  arrived_ = arrived;
  left_ = left;
  stamps_.begin();
  stamps_.arrive(me_, {arrived, before_.elapsed, static_cast<float>(left - arrived - deciding)});
  return stamps_;
}

void Watch::arrive(Seconds now) {
  arrived_ = now;
  stamps_.arrive(me_, {now, before_.elapsed});
}

void Watch::leave(Seconds now, Seconds deciding) {
  left_ = now;
  observe();
  taken_.reset();
  before_ = {false, static_cast<float>(now - arrived_ - deciding), true};
}

void Watch::end_exchange() {
  observe();
  const std::vector<ArrivalStamp>& stamps = stamps_.all();
  seen_.exits_before.resize(stamps.size());
  for (std::size_t rank = 0; rank < stamps.size(); ++rank) {
    seen_.exits_before[rank] = stamps[rank].arrival + stamps[rank].elapsed;
  }
  taken_ = taken_until_exits();
  before_ = {true, 0, true};
}

void Watch::observe() {
  const std::vector<ArrivalStamp>& stamps = stamps_.all();
  taken_before_.reset();
  cost_before_.reset();
  if (before_.watched && !before_.exits_known) {
    seen_.exits_before.resize(stamps.size());
    for (std::size_t rank = 0; rank < stamps.size(); ++rank) {
      seen_.exits_before[rank] = seen_.arrivals[rank] + stamps[rank].elapsed_before;
    }
    taken_before_ = taken_until_exits();
  } else if (!before_.exits_known) {
    seen_.exits_before.clear();
  }
  const Seconds last_before = last_arrival();
  seen_.arrivals.resize(stamps.size());
  for (std::size_t rank = 0; rank < stamps.size(); ++rank) {
    seen_.arrivals[rank] = stamps[rank].arrival;
  }
  if (before_.watched) cost_before_ = cost_until_arrivals(last_before);
  if (forecasts_this_) forecasts_.observe(history_, seen_);
  lateness_ = seen_.arrivals;
  const Seconds earliest = *std::min_element(lateness_.begin(), lateness_.end());
  for (Seconds& arrival : lateness_) arrival -= earliest;
  mostly_late_.learn(lateness_);
}

}  // namespace latecomer
