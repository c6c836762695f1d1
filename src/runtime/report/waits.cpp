#include "runtime/report/waits.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace latecomer {
namespace {

void subtract(std::vector<double>& from, const std::vector<double>& those) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= those[i];
}

/// By place in the order of `came`: between two arrivals a rank that is there waits for those that
/// come later, but before it leaves, and each of these is charged an equal part.
std::vector<Seconds> charges(const std::vector<Seconds>& came,
                             const std::vector<std::size_t>& met) {
  std::vector<Seconds> charged(came.size());
  std::map<std::size_t, std::vector<std::size_t>> leavers;  // places, by how many they meet
  for (std::size_t place = 0; place < came.size(); ++place) leavers[met[place]].push_back(place);
  for (const auto& [all, places] : leavers) {
    std::size_t there = 0;
    Seconds sum = 0;
    for (std::size_t next = places.front() + 1; next < all; ++next) {
      while (there < places.size() && places[there] < next) ++there;
      sum += (came[next] - came[next - 1]) * static_cast<double>(there) /
             static_cast<double>(all - next);
      charged[next] += sum;
    }
  }
  return charged;
}

}  // namespace

void Waits::add(std::span<const Seconds> arrivals, std::span<const Seconds> exits, bool by_all) {
  const std::size_t ranks = arrivals.size();
  std::vector<std::size_t> order(ranks);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return arrivals[a] < arrivals[b]; });
  std::vector<Seconds> came;
  for (const std::size_t i : order) came.push_back(arrivals[i]);
  const Seconds median = (came[(ranks - 1) / 2] + came[ranks / 2]) / 2;
  std::vector<std::size_t> met;  // by place: so many have come before that rank leaves
  Seconds waited = 0;
  for (std::size_t place = 0; place < ranks; ++place) {
    const std::size_t i = order[place];
    const auto by_exit = std::ranges::upper_bound(came, exits[i]) - came.begin();
    met.push_back(by_all ? ranks : std::max(place + 1, static_cast<std::size_t>(by_exit)));
    const Seconds until = std::min(came[met.back() - 1], exits[i]);
    const Seconds own = std::max(0.0, until - arrivals[i]);
    waiting[i] += own;
    moving[i] += std::max(0.0, exits[i] - arrivals[i] - own);
    lateness[i] += arrivals[i] - (ranks == 2 ? arrivals[1 - i] : median);
    waited += own;
  }
  // Where clocks are off, a rank seems to leave before the last one comes, and waits less.
  const std::vector<Seconds> charged = charges(came, met);
  const Seconds all = std::accumulate(charged.begin(), charged.end(), Seconds{0});
  for (std::size_t place = 0; place < ranks && all > 0; ++place) {
    cost[order[place]] += charged[place] * waited / all;
  }
  if (ranks == 1 || came[ranks - 1] > came[ranks - 2]) ++last[order.back()];
  ++calls;
}

void Waits::remove(const Waits& other) {
  calls -= other.calls;
  subtract(waiting, other.waiting);
  subtract(moving, other.moving);
  subtract(cost, other.cost);
  subtract(lateness, other.lateness);
  subtract(last, other.last);
}

Seconds Waits::all_waiting() const {
  return std::accumulate(waiting.begin(), waiting.end(), Seconds{0});
}

}  // namespace latecomer
