// Rule race: two ranks of a node that touch the same element of its buffer, one of them writing, do
// so in an order that the programs enforce. Accumulates on one flag need none among themselves.
#pragma once

#include "verify/happens_before.hpp"

namespace latecomer::verifier {

[[nodiscard]] Finding check_races(Programs programs, const Messages& messages,
                                  const Execution& execution, HappensBefore& order);

}  // namespace latecomer::verifier
