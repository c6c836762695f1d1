// Rules that look at one operation at a time: plan, bounds, dependencies. The later rules rely on
// them: after these, every index, slice and peer can be used without a further check.
#pragma once

#include "verify/words.hpp"

namespace latecomer::verifier {

[[nodiscard]] Finding check_plan(const Problem& problem, Programs programs);
[[nodiscard]] Finding check_bounds(Programs programs);
[[nodiscard]] Finding check_dependencies(Programs programs);

}  // namespace latecomer::verifier
