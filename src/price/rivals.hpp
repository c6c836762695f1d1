// Balanced programs that may be faster than the one with the least price, since prices are off.
#pragma once

#include <string>
#include <vector>

#include "algorithms/registry.hpp"

namespace latecomer {

/// Prices of programs that rest on the same costs are off against each other by up to so many
/// times (docs/decisions/0016-selection.md).
inline constexpr double kDoubt = 1.3;

/// A balanced program that may be faster than the one with the least price.
struct Rival {
  Choice choice;
  /// Of the program; with a ' if it has other parameters than `fastest`; on nodes of that among
  /// them.
  std::string name;
};

/// Returns the programs whose balanced price is at most kDoubt times that of `fastest`, the plan
/// that has the least one; without that plan's own, and at most four. First come those that are
/// cheapest if messages both ways between two ranks are slower than the network's costs have it,
/// which is what these costs are most often wrong in. On nodes the programs among them compete.
[[nodiscard]] std::vector<Rival> rivals(const Plan& fastest, const Knowledge& knowledge);

}  // namespace latecomer
