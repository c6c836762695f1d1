// Plans: made by rows, checked where they were read from a text, and turned into programs and
// executors.
#pragma once

#include <string>
#include <vector>

#include "algorithms/row.hpp"
#include "base/network.hpp"
#include "protocol/protocol.hpp"
#include "schedule/plan.hpp"

namespace latecomer {

/// The complete plan, the same on every rank that calls it with the same arguments. Throws Error
/// for a problem or parameters that the algorithm does not take, and for arrivals of another
/// length than the ranks.
[[nodiscard]] Plan make_plan(const Algorithm& algorithm, const Problem& problem,
                             const Parameters& parameters, const Knowledge& knowledge);

/// A plan of the same row for another problem of about the same size, without the search that found
/// `representative`. Parameters that are not in `fixed` are filled in anew, or taken over where
/// that takes long (`Parameter::taken_over`).
[[nodiscard]] Plan plan_like(const Plan& representative, const Problem& problem,
                             const Parameters& fixed, const Knowledge& knowledge);

/// Throws Error for a plan, read from a text, that make_plan cannot have made, as far as building
/// its programs would go wrong.
void check_plan(const Plan& plan);
/// The cost by the plan's row; nothing for one rank.
[[nodiscard]] Cost cost_of(const Plan& plan);
/// Transfers no data: all ranks tell each other, as beside a call that another library carries out.
[[nodiscard]] Plan arrival_exchange_plan(const Problem& problem);

/// One rank's program, in time proportional to its own operations. Throws Error for a row that runs
/// none.
[[nodiscard]] Program build_program(const Plan& plan, Rank me);
[[nodiscard]] std::vector<Program> build_programs(const Plan& plan);

// The checks of a plan that was read from a text, as far as several rows share them.

/// Throws Error naming the plan's table; `remedy` says what the table should be.
[[noreturn]] void refuse_table(const Plan& plan, const std::string& remedy);

/// Each throws Error for a plan that lacks the property beside it.
void check_ordered(const Plan& plan);     // an order, and no table
void check_root_first(const Plan& plan);  // the same, from the root on
void check_root_last(const Plan& plan);   // the same, up to the root
/// An order, and a table of one number a rank.
void check_ordered_numbers(const Plan& plan, Count least, Count most);

// Makes the executors of a plan, by the kind of its algorithm. No other place distinguishes
// programs from protocols.

/// Makes the executor of rank `me`. `eager`: elements of the longest message whose receive may be
/// posted early. Throws Error for a rank that is not in the plan.
[[nodiscard]] std::unique_ptr<Executor> make_executor(const Plan& plan, Rank me, Count eager);

/// Makes the executors of all ranks, for this network.
[[nodiscard]] Executors make_executors(const Plan& plan, const Network& network);

}  // namespace latecomer
