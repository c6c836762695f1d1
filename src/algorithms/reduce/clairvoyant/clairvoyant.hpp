// The messages of a segmented reduction for known arrivals, round by round: every rank sends and
// receives at most one segment in each round.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace latecomer::reduce {

/// A message with one rank's partial result of a segment, which the receiver combines with its own.
struct SegmentHop {
  Rank from = 0;
  Rank to = 0;
  Count segment = 0;
};

struct SegmentTimetable {
  std::vector<SegmentHop> hops;  // in the order of their rounds
  Count rounds = 0;              // from the first arrival to the end
};

/// Returns the rounds in which a rank's segments leave, at most about, counted from when it and the
/// rank that takes them are there.
[[nodiscard]] Count segment_window(Rank ranks, Count segments);

/// Returns a timetable that brings all segments to the root. `arrivals`: by rank, the round from
/// which on it takes part.
[[nodiscard]] SegmentTimetable make_segment_timetable(const std::vector<Count>& arrivals,
                                                      Count segments, Rank root);

}  // namespace latecomer::reduce
