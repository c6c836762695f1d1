// The plans of owners, early and online ones: the blocks, where these lie, arrivals in rounds, and
// the price by their timetable.
#pragma once

#include <memory>
#include <vector>

#include "algorithms/owners/timetable.hpp"
#include "schedule/plan.hpp"

namespace latecomer::owners {

/// Fills in the parameter `blocks` and the table: the round in which each rank arrives.
void plan_early_owners(Plan& plan, const Knowledge& knowledge);

/// Throws Error for blocks or a table that do not fit the problem.
void check_early_owners(const Plan& plan);

/// Fills in the parameter `blocks` alone: for expected arrivals, or for balanced ones.
void plan_blocks_of_owners(Plan& plan, const Knowledge& knowledge);
/// Fills in the table for these arrivals, with the plan's blocks.
void plan_arrivals_of_owners(Plan& plan, const std::vector<Seconds>& arrivals,
                             const Network& network);
/// Throws Error for more blocks than elements or than a plan may have.
void check_blocks_of_owners(const Plan& plan);

[[nodiscard]] Count blocks_of(const Plan& plan);
[[nodiscard]] Combines combines_of(const Plan& plan);
/// The elements of each block. In an all-gather, block b is a piece of the part of rank b mod P.
[[nodiscard]] std::vector<Range> ranges_of(const Plan& plan);
/// The number of elements of the longest block.
[[nodiscard]] Count longest_block(const Plan& plan);
/// The timetable for the arrivals that the plan was made for.
[[nodiscard]] std::shared_ptr<const Timetable> planned_timetable(const Plan& plan);
/// The mean exit after the last arrival by this timetable, seconds.
[[nodiscard]] Seconds planned_time(const Plan& plan, const Network& network);
/// The time of one round while ports are busy in each round.
[[nodiscard]] Seconds round_of(const Plan& plan, const Network& network);
/// The number of blocks for which (volume K + ceil(log2 P))(alpha + m/K beta) is least.
[[nodiscard]] double ideal_blocks(const Problem& problem, double volume, const Network& network);
/// More blocks are not made.
[[nodiscard]] Count most_blocks(const Problem& problem);
/// The rounds of a timetable with as many blocks if all ranks arrive together.
[[nodiscard]] Count balanced_rounds(const Plan& plan);
/// True if the vector is long enough to be cut into blocks.
[[nodiscard]] bool worth_blocks(const Problem& problem, const Network& network);
/// True if planning may gain more time than it takes.
[[nodiscard]] bool worth_planning_owners(const Problem& problem, const Network& network);

}  // namespace latecomer::owners
