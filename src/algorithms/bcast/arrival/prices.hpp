// How long the arrival broadcasts take: played segment by segment, or estimated where these are
// many.
#pragma once

#include "algorithms/bcast/arrival/arrival_rank.hpp"
#include "schedule/plan.hpp"

namespace latecomer::bcast {

/// The one whose root sends to absent ranks as well.
inline constexpr std::string_view kAhead = "arrival_nb";
[[nodiscard]] Feeding feeding_of(const Plan& plan);

/// When all arrive together.
[[nodiscard]] Seconds arrival_time(const Plan& plan, const Network& network);
/// The mean of exit minus last arrival.
[[nodiscard]] Seconds arrival_after_last(const Plan& plan, const Network& network,
                                         const std::vector<Seconds>& arrivals);

}  // namespace latecomer::bcast
