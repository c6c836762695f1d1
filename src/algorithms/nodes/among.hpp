// The parameter `among` of the rows `nodes`: the row whose programs run among the nodes.
#pragma once

#include "algorithms/row.hpp"

namespace latecomer {

/// `among`: the rows of the collective that run programs, by name.
[[nodiscard]] Parameter among_parameter();
/// `segments` or `blocks` of the row among the nodes; 0: as many as it takes by itself.
[[nodiscard]] Parameter of_row_among(std::string_view name);

/// Those of the given parameters that the row has.
[[nodiscard]] Parameters parameters_for(const Algorithm& row, const Parameters& given);

/// The plan among nodes for a problem of as many ranks as there are nodes: by the row that `plan`
/// names, if it takes the operator, with the plan's parameters that the row has; otherwise by the
/// cheapest one of balanced rows. Where the arrivals differ it is the first of `aware` that takes
/// the operator and is worth its planning; where they do not, but nodes have lanes, the first one.
[[nodiscard]] Plan plan_among(Plan& plan, const Problem& problem, const Knowledge& knowledge,
                              std::span<const std::string_view> aware);

}  // namespace latecomer
