// Segments of pipelines: their best number, and the parameter of rows.
#pragma once

#include <algorithm>

#include "algorithms/row.hpp"
#include "base/partition.hpp"
#include "base/types.hpp"

namespace latecomer {

// The best number of segments of a pipeline.

/// More segments would make programs longer without making pipelines shorter.
inline constexpr Count kMaxSegments = 65536;

/// The largest number of segments: at most one an element, at least 1.
[[nodiscard]] inline Count max_segments(Count elements) {
  return std::min(std::max<Count>(1, elements), kMaxSegments);
}

/// The fewest segments for which `time(segments)` is shortest, to within an eighth, and at most
/// max_segments(elements). Tried out one by one, since a closed form knows neither
/// the longest segment nor the handshake of those above the eager limit.
template <typename Time>
[[nodiscard]] Count best_segments(Count elements, const Time& time) {
  const Count max = max_segments(elements);
  Count best = 1;
  Seconds shortest = time(best);
  for (Count segments = 2; segments <= max; segments += std::max<Count>(1, segments / 8)) {
    const Seconds taken = time(segments);
    if (taken >= shortest) continue;
    best = segments;
    shortest = taken;
  }
  return best;
}

inline constexpr std::string_view kBestSegments = "in all; default: the best for the pipeline";
inline constexpr std::string_view kEagerSegments =
    "in all; default: the best for the pipeline, sent eagerly";

[[nodiscard]] inline Parameter segments_parameter(std::string_view meaning) {
  return {"segments", meaning, 1, {}, false, TakenOver::in_proportion};
}

/// By default as many segments as make `time(plan)` shortest, but small enough to be sent eagerly
/// where a handshake costs anything.
template <class Time>
void fill_eager_segments(Plan& plan, const Network& network, const Time& time) {
  if (plan.parameters.contains("segments")) return;
  const Problem& problem = plan.problem;
  Plan tried = plan;
  const Count best = best_segments(problem.count, [&](Count segments) {
    tried.parameters["segments"] = segments;
    return time(tried);
  });
  const Count least = network.handshake > 0 ? eager_parts(problem.bytes(), network) : 1;
  plan.parameters["segments"] = std::max(best, std::min(least, max_segments(problem.count)));
}
/// The same for ranks that arrive together.
inline void fill_eager_segments(Plan& plan, const Network& network, Cost (*cost)(const Plan&)) {
  fill_eager_segments(plan, network, [&](const Plan& tried) {
    return hockney_time(tried.problem, cost(tried), network);
  });
}

}  // namespace latecomer
