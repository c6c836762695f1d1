// The checks of a plan that was read from a text, as far as several rows share them.
#pragma once

#include "schedule/plan.hpp"

namespace latecomer {

/// Throws Error naming the plan's table; `remedy` says what the table should be.
[[noreturn]] void refuse_table(const Plan& plan, const std::string& remedy);

/// Each throws Error for a plan that lacks the property beside it.
void check_ordered(const Plan& plan);     // an order, and no table
void check_root_first(const Plan& plan);  // the same, from the root on
void check_root_last(const Plan& plan);   // the same, up to the root
/// An order, and a table of one number a rank.
void check_ordered_numbers(const Plan& plan, Count least, Count most);

}  // namespace latecomer
