// When ranks leave, from the moves of all: one event a message instead of a program.
#pragma once

#include <vector>

#include "algorithms/moving/moves.hpp"
#include "schedule/plan.hpp"

namespace latecomer::moving {

/// When each rank leaves, if they arrive so (one entry a rank, seconds): ports that take one
/// message after another, long messages that wait for their receiver, one sender at a time, as the
/// engine posts them. One node a rank, no jitter.
[[nodiscard]] std::vector<Seconds> exits(const Moves& moves, const Plan& plan,
                                         const Network& network,
                                         const std::vector<Seconds>& arrivals);

/// Replaying takes up to a microsecond a message: longer lists are priced by closed forms.
inline constexpr Count kMostReplayed = 4096;

/// The last exit when all arrive together.
[[nodiscard]] Seconds time(const Moves& moves, const Plan& plan, const Network& network);
/// The mean of exit minus last arrival.
[[nodiscard]] Seconds time_after_last(const Moves& moves, const Plan& plan, const Network& network,
                                      const std::vector<Seconds>& arrivals);

// The same as functions of a row with such moves.
template <Moves (*moves)(const Plan& plan, Rank of)>
[[nodiscard]] Seconds time_of(const Plan& plan, const Network& network) {
  return time(moves(plan, kEverybody), plan, network);
}
template <Moves (*moves)(const Plan& plan, Rank of)>
[[nodiscard]] Seconds time_after_last_of(const Plan& plan, const Network& network,
                                         const std::vector<Seconds>& arrivals) {
  return time_after_last(moves(plan, kEverybody), plan, network, arrivals);
}

// Of a row whose list of moves may be too long to be replayed: then it takes `otherwise`, as if
// nobody were late, which is never less.
template <Moves (*moves)(const Plan& plan, Rank of), bool (*replayed)(const Plan& plan),
          Seconds (*otherwise)(const Plan& plan, const Network& network)>
[[nodiscard]] Seconds time_or(const Plan& plan, const Network& network) {
  return replayed(plan) ? time_of<moves>(plan, network) : otherwise(plan, network);
}
template <Moves (*moves)(const Plan& plan, Rank of), bool (*replayed)(const Plan& plan),
          Seconds (*otherwise)(const Plan& plan, const Network& network)>
[[nodiscard]] Seconds time_after_last_or(const Plan& plan, const Network& network,
                                         const std::vector<Seconds>& arrivals) {
  return replayed(plan) ? time_after_last_of<moves>(plan, network, arrivals)
                        : otherwise(plan, network);
}

/// `replayed` of those in which every rank sends up to P messages.
[[nodiscard]] inline bool few_pairs(const Plan& plan) {
  return Count{plan.problem.ranks} * plan.problem.ranks <= kMostReplayed;
}

}  // namespace latecomer::moving
