#include "runtime/report/waits.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace latecomer {
namespace {

void subtract(std::vector<double>& from, const std::vector<double>& those) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= those[i];
}

/// By place: between two arrivals a rank that is there waits for those that come later, but before
/// it leaves, and each of these is charged an equal part.
template <class Arrival>
std::vector<Seconds> charges(const Arrival& arrival, const std::vector<std::size_t>& met) {
  const std::size_t ranks = met.size();
  std::vector<Seconds> charged(ranks);
  std::map<std::size_t, std::vector<std::size_t>> leavers;  // places, by how many they meet
  for (std::size_t place = 0; place < ranks; ++place) leavers[met[place]].push_back(place);
  for (const auto& [all, places] : leavers) {
    std::size_t there = 0;
    Seconds sum = 0;
    for (std::size_t next = places.front() + 1; next < all; ++next) {
      while (there < places.size() && places[there] < next) ++there;
      const Seconds gap = arrival(next) - arrival(next - 1);
      sum += gap * static_cast<double>(there) / static_cast<double>(all - next);
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
  const auto arrival = [&](std::size_t place) { return arrivals[order[place]]; };
  const Seconds median = (arrival((ranks - 1) / 2) + arrival(ranks / 2)) / 2;
  std::vector<std::size_t> met(ranks);  // by place: so many have come before that rank leaves
  Seconds waited = 0;
  for (std::size_t place = 0; place < ranks; ++place) {
    const std::size_t i = order[place];
    met[place] = by_all ? ranks : place + 1;
    while (met[place] < ranks && arrival(met[place]) <= exits[i]) ++met[place];
    const Seconds until = std::min(arrival(met[place] - 1), exits[i]);
    const Seconds own = std::max(0.0, until - arrivals[i]);
    waiting[i] += own;
    moving[i] += std::max(0.0, exits[i] - arrivals[i] - own);
    lateness[i] += arrivals[i] - median;
    waited += own;
  }
  // Where clocks are off, a rank seems to leave before the last one comes, and waits less.
  std::vector<Seconds> charged = charges(arrival, met);
  const Seconds all = std::accumulate(charged.begin(), charged.end(), Seconds{0});
  for (std::size_t place = 0; place < ranks && all > 0; ++place) {
    cost[order[place]] += charged[place] * waited / all;
  }
  if (ranks == 1 || arrival(ranks - 1) > arrival(ranks - 2)) ++last[order.back()];
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
