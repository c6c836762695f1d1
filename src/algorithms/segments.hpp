// The parameter `segments` of rows that are pipelines.
#pragma once

#include <algorithm>

#include "algorithms/row.hpp"
#include "base/partition.hpp"
#include "patterns/pipeline.hpp"

namespace latecomer {

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
