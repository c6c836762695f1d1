#include "runtime/report/waits.hpp"

#include <algorithm>
#include <numeric>

#include "lateness/calls.hpp"

namespace latecomer {
namespace {

void subtract(std::vector<double>& from, const std::vector<double>& those) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= those[i];
}

void add_to(std::vector<double>& sums, std::span<const double> those) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += those[i];
}

}  // namespace

void Waits::add(std::span<const Seconds> arrivals, std::span<const Seconds> exits, bool by_all) {
  const std::size_t ranks = arrivals.size();
  ++calls;
  if (ranks == 1) {
    moving[0] += std::max(0.0, exits[0] - arrivals[0]);
    ++last[0];
    return;
  }
  std::vector<Seconds> of_ranks(9 * ranks);
  std::vector<Seconds> of_call(5);
  std::int32_t came_last = -1;
  std::int32_t came_first = -1;
  const std::uint8_t all = by_all ? 1 : 0;
  const auto part = [&](std::size_t at) { return std::span(of_ranks).subspan(at * ranks, ranks); };
  const auto one = [&](std::size_t at) { return std::span(of_call).subspan(at, 1); };
  examine({ranks, arrivals, exits, {&all, 1}},
          {part(0),
           part(1),
           part(2),
           one(0),
           one(1),
           one(2),
           one(3),
           one(4),
           {&came_last, 1},
           {&came_first, 1}},
          {part(3), part(4), part(5), part(6), part(7), part(8)});
  add_to(waiting, part(3));
  add_to(moving, part(4));
  add_to(cost, part(5));
  add_to(lateness, part(6));
  if (came_last >= 0) ++last[static_cast<std::size_t>(came_last)];
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
