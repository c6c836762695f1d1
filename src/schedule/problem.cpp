#include "schedule/problem.hpp"

#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/partition.hpp"

namespace latecomer {
namespace {

// In the order of their values.
constexpr std::string_view kNames[kCollectives] = {"allgather", "allreduce", "bcast",
                                                   "gather",    "reduce",    "scatter"};
constexpr Collective kAll[kCollectives] = {Collective::allgather, Collective::allreduce,
                                           Collective::bcast,     Collective::gather,
                                           Collective::reduce,    Collective::scatter};

void check_parts(const Problem& problem) {
  if (problem.parts.empty()) return;
  if (!parted(problem.collective)) {
    throw Error("parts", std::to_string(problem.parts.size()) + " numbers",
                "none for " + std::string(to_string(problem.collective)));
  }
  if (problem.parts.size() != static_cast<std::size_t>(problem.ranks)) {
    throw Error("parts", std::to_string(problem.parts.size()) + " numbers",
                "one for each of " + std::to_string(problem.ranks) + " ranks");
  }
  Count sum = 0;
  for (const Count part : problem.parts) {
    if (part < 0 || part > problem.count) {
      throw Error("part", std::to_string(part), "from 0 to the elements of the whole vector");
    }
    sum += part;
    if (sum > problem.count) break;
  }
  if (sum != problem.count) {
    throw Error("count", std::to_string(problem.count), "the sum of all ranks' parts");
  }
}

}  // namespace

std::span<const Collective> all_collectives() { return kAll; }

std::string_view to_string(Collective collective) {
  return kNames[static_cast<std::size_t>(collective)];
}

Collective parse_collective(std::string_view name) {
  std::string known;
  for (const Collective collective : kAll) {
    if (to_string(collective) == name) return collective;
    known += (known.empty() ? "" : ", ") + std::string(to_string(collective));
  }
  throw Error("collective", std::string(name), "one of " + known);
}

bool combines(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::reduce;
}

bool rooted(Collective collective) {
  return collective != Collective::allreduce && collective != Collective::allgather;
}

bool parted(Collective collective) {
  return collective == Collective::allgather || collective == Collective::gather ||
         collective == Collective::scatter;
}

Range Problem::part(Rank rank) const {
  if (!parted(collective)) return {0, count};
  if (parts.empty()) return Partition(count, ranks).range(rank);
  return {std::accumulate(parts.begin(), parts.begin() + rank, Count{0}),
          parts[static_cast<std::size_t>(rank)]};
}

Range Problem::before(Rank rank) const {
  const bool sends_all = collective == Collective::bcast || collective == Collective::scatter;
  if (!sends_all) return part(rank);
  return {0, rank == root ? count : 0};
}

Range Problem::after(Rank rank) const {
  switch (collective) {
    case Collective::allgather:
    case Collective::allreduce:
      return {0, count};
    case Collective::gather:
    case Collective::reduce:
      return {0, rank == root ? count : 0};
    case Collective::bcast:
      return {0, rank == root ? 0 : count};
    case Collective::scatter:
      return part(rank);
  }
  return {};
}

bool Problem::in_place_at(Rank rank) const {
  if (collective == Collective::bcast) return false;
  return in_place && (!rooted(collective) || rank == root);
}

Range Problem::input(Rank rank) const {
  return in_place_at(rank) && collective != Collective::scatter ? Range{} : before(rank);
}

Range Problem::output(Rank rank) const {
  return in_place_at(rank) && collective == Collective::scatter ? Range{} : after(rank);
}

void check(const Problem& problem) {
  if (problem.ranks < 1) {
    throw Error("ranks", std::to_string(problem.ranks), "a whole number from 1 up");
  }
  if (problem.count < 0) {
    throw Error("count", std::to_string(problem.count), "a whole number from 0 up");
  }
  if (problem.element_bytes < 1) {
    throw Error("element bytes", std::to_string(problem.element_bytes), "a number from 1 up");
  }
  if (problem.count > std::numeric_limits<Count>::max() / problem.element_bytes / 4) {
    throw Error("count", std::to_string(problem.count), "a vector below 2^61 bytes");
  }
  if (problem.root < 0 || problem.root >= problem.ranks) {
    throw Error("root", std::to_string(problem.root), "a rank of the communicator");
  }
  if (problem.root != 0 && !rooted(problem.collective)) {
    throw Error("root", std::to_string(problem.root),
                "0 for " + std::string(to_string(problem.collective)) + ", which has none");
  }
  check_parts(problem);
}

void check_arrivals(const std::vector<Seconds>& arrivals, Rank ranks) {
  if (arrivals.size() != static_cast<std::size_t>(ranks)) {
    throw Error("arrivals", std::to_string(arrivals.size()) + " times",
                "one time for each of " + std::to_string(ranks) + " ranks");
  }
  for (const Seconds arrival : arrivals) {
    if (!(arrival >= -1e18 && arrival <= 1e18)) {
      throw Error("arrival", format_number(arrival), "a finite time in seconds");
    }
  }
}

}  // namespace latecomer
