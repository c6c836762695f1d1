// What the rows have in common of what they ask of a plan that was read.
#pragma once

#include "schedule/plan.hpp"

namespace latecomer {

/// Throws Error naming the plan's table, which is to be `remedy`.
[[noreturn]] void refuse_table(const Plan& plan, const std::string& remedy);

/// Each throws Error for a plan that is not so.
void check_ordered(const Plan& plan);     // an order, and no table
void check_root_first(const Plan& plan);  // the same, from the root on
void check_root_last(const Plan& plan);   // the same, up to the root
/// An order, and a table of one number a rank.
void check_ordered_numbers(const Plan& plan, Count least, Count most);

}  // namespace latecomer
