// The choice of the row whose program runs among the nodes.
#pragma once

#include "algorithms/row.hpp"

namespace latecomer {

inline constexpr std::string_view kAmong = "among";  // the parameter

/// Those of the given parameters that the row has.
[[nodiscard]] inline Parameters parameters_for(const Algorithm& row, const Parameters& given) {
  Parameters taken;
  for (const Parameter& parameter : row.parameters) {
    const auto found = given.find(parameter.name);
    if (found != given.end() && found->second >= parameter.minimum) taken.insert(*found);
  }
  return taken;
}

/// The plan among nodes, chosen by price (src/price/among.cpp), for a problem of as many ranks as
/// there are nodes: by the row that `plan` names, if it takes the operator, with the plan's
/// parameters that the row has; otherwise by the cheapest one of balanced rows. Where the arrivals
/// differ it is the first of `aware` that takes the operator and is worth its planning; where they
/// do not, but nodes have lanes, the first one.
[[nodiscard]] Plan plan_among(Plan& plan, const Problem& problem, const Knowledge& knowledge,
                              std::span<const std::string_view> aware);

}  // namespace latecomer
