// Cells: each rank of a node has a part of the node's buffer of its own, and the vectors are
// combined in the order of ranks. Otherwise ranks add to one vector as they come.
#pragma once

#include "algorithms/row.hpp"

namespace latecomer {

[[nodiscard]] bool has_cells(const Plan& plan);
[[nodiscard]] Parameter cells_parameter();
/// Fills in whether there are cells.
void fill_cells(Plan& plan);

}  // namespace latecomer
