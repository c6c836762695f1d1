#include "runtime/report/waits.hpp"

#include <algorithm>
#include <numeric>

namespace latecomer {
namespace {

void subtract(std::vector<double>& from, const std::vector<double>& those) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= those[i];
}

}  // namespace

void Waits::add(std::span<const Seconds> arrivals, std::span<const Seconds> exits) {
  const std::size_t ranks = arrivals.size();
  std::vector<std::size_t> order(ranks);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return arrivals[a] < arrivals[b]; });
  const Seconds latest = arrivals[order.back()];
  const Seconds median = (arrivals[order[(ranks - 1) / 2]] + arrivals[order[ranks / 2]]) / 2;
  Seconds waited = 0;
  for (std::size_t i = 0; i < ranks; ++i) {
    const Seconds own = std::max(0.0, std::min(latest, exits[i]) - arrivals[i]);
    waiting[i] += own;
    moving[i] += std::max(0.0, exits[i] - arrivals[i] - own);
    lateness[i] += arrivals[i] - median;
    waited += own;
  }
  // Charges up to the last arrival; ranks that leave before it wait less, so all are less alike.
  std::vector<Seconds> charged(ranks);
  Seconds sum = 0;
  Seconds all = 0;
  for (std::size_t there = 1; there < ranks; ++there) {
    const Seconds gap = arrivals[order[there]] - arrivals[order[there - 1]];
    sum += gap * static_cast<double>(there) / static_cast<double>(ranks - there);
    charged[order[there]] = sum;
    all += sum;
  }
  for (std::size_t i = 0; i < ranks && all > 0; ++i) cost[i] += charged[i] * waited / all;
  ++last[order.back()];
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
