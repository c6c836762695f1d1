// What a plan of early owners is made of: blocks, arrivals in rounds, owners; and its price.
#pragma once

#include <memory>
#include <vector>

#include "algorithms/allreduce/early_owners/timetable.hpp"
#include "schedule/plan.hpp"

namespace latecomer::allreduce {

/// Fills in the parameter `blocks` and the table: in which round each rank arrives, then each
/// block's owner.
void plan_early_owners(Plan& plan, const Knowledge& knowledge);

/// Throws Error for blocks or a table that do not fit the problem.
void check_early_owners(const Plan& plan);

[[nodiscard]] Count blocks_of(const Plan& plan);
/// For the arrivals that the plan was made for.
[[nodiscard]] std::shared_ptr<const Timetable> planned_timetable(const Plan& plan);
/// By that: the mean exit after the last arrival.
[[nodiscard]] Seconds planned_time(const Plan& plan, const Network& network);
/// Rounds of a timetable of the same owners, if all arrive together.
[[nodiscard]] Count balanced_rounds(const Plan& plan);
/// Whether planning may gain more than it takes.
[[nodiscard]] bool worth_planning_owners(const Problem& problem, const Network& network);

}  // namespace latecomer::allreduce
