// The output of latecomer_simgrid.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulate/simulate.hpp"

namespace latecomer {

/// One line of JSON: arrivals and exits in seconds, with all their digits; an exit of null: never.
/// `hosts`: each rank's. `wrong`: elements, if they were checked.
[[nodiscard]] std::string simgrid_report(const Simulation& simulation,
                                         const std::vector<std::string>& hosts,
                                         std::optional<Count> wrong);
/// The version of the linked library, as in "3.32.0".
[[nodiscard]] std::string simgrid_version();

}  // namespace latecomer
