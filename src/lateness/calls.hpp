// Who waits for whom in each call of a collective, and for how long: a rank waits from its arrival
// to the last arrival before it leaves, and moves data from then until it leaves.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/types.hpp"

namespace latecomer {

/// Synchronising collectives, which nobody leaves before all have entered them, unless parts of the
/// data are empty.
inline constexpr std::array<std::string_view, 8> kSynchronising = {
    "allreduce", "allgather", "allgatherv",     "alltoall",
    "alltoallv", "barrier",   "reduce_scatter", "reduce_scatter_block"};

[[nodiscard]] inline bool synchronises(std::string_view collective) {
  return std::ranges::find(kSynchronising, collective) != kSynchronising.end();
}

/// Beginnings of the names of collectives that make communicators, or are on windows and files.
inline constexpr std::array<std::string_view, 7> kOnObjects = {
    "comm_", "cart_", "graph_", "dist_graph_", "intercomm_", "win_", "file_"};

/// Tells if ranks mostly leave such calls after all have entered them.
[[nodiscard]] inline bool may_meet(std::string_view collective) {
  const auto begins = [&](std::string_view name) { return collective.starts_with(name); };
  return synchronises(collective) || collective == "alltoallw" ||
         std::ranges::any_of(kOnObjects, begins);
}

/// Those of which no part alone can be empty.
inline constexpr std::array<std::string_view, 4> kNeverEarly = {"allreduce", "allgather",
                                                                "alltoall", "barrier"};

/// Tells if nobody can leave a call early, of so many bytes; -1: some.
[[nodiscard]] inline bool never_early(std::string_view collective, std::int64_t bytes) {
  const bool never = std::ranges::find(kNeverEarly, collective) != kNeverEarly.end();
  return never && (bytes != 0 || collective == "barrier");
}

/// Calls that are known on all their ranks. Arrays of shape (calls, ranks) hold a call's ranks one
/// after the other; the others have one entry a call. Times are in seconds.
struct WholeCalls {
  std::size_t ranks = 0;                 // two or more
  std::span<const Seconds> arrival;      // (calls, ranks)
  std::span<const Seconds> exit;         // (calls, ranks)
  std::span<const std::uint8_t> by_all;  // 1: nobody leaves the call before all have entered it
  // (calls, ranks): the arrival, earlier by the time in other calls of MPI since the ranks were
  // together: a rank is not late because of what it waited for itself. The least such time of a
  // call's ranks counts for none of them. Empty: as `arrival`.
  std::span<const Seconds> ready{};
};

/// What is found out about them.
struct CallFigures {
  std::span<Seconds> lateness;    // (calls, ranks): when it was ready, minus the median time, or of
                                  // two ranks minus the other's
  std::span<Seconds> waiting;     // (calls, ranks): from each arrival to the last before it leaves
  std::span<Seconds> cost;        // (calls, ranks): what the others waited for each rank
  std::span<Seconds> waited;      // the sum of the ranks' waiting
  std::span<Seconds> moved;       // the sum of their time from then to their exits
  std::span<Seconds> spread;      // the greatest lateness
  std::span<Seconds> alone;       // what was waited for the last rank alone, since the second last
  std::span<Seconds> after;       // from the last arrival to the last exit
  std::span<std::int32_t> last;   // the rank that was ready last; -1: two were
  std::span<std::int32_t> first;  // the rank that was ready first
};

/// Sums over the calls; one entry a rank.
struct RankSums {
  std::span<Seconds> waiting;
  std::span<Seconds> moving;
  std::span<Seconds> cost;
  std::span<Seconds> lateness;
  std::span<double> squares;   // of the lateness
  std::span<double> products;  // of the lateness in one call and in the next
};

/// Fills figures and sums, with several threads if there are many calls. At any time a rank that is
/// there waits for those that come later, but before it leaves; each of these that is not ready yet
/// is charged an equal part of that. So the costs of a call's ranks are what is waited in it, less
/// what is waited while all of those are ready. Throws Error if the lengths differ.
void examine(const WholeCalls& calls, const CallFigures& into, const RankSums& sums);

}  // namespace latecomer
