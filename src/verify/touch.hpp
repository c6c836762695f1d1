// Rules about which elements the operations of one rank touch, and in which order: hazard,
// arrival, read-only.
#pragma once

#include "verify/words.hpp"

namespace latecomer::verifier {

[[nodiscard]] Finding check_hazards(Programs programs);
[[nodiscard]] Finding check_arrival(Programs programs);
[[nodiscard]] Finding check_read_only(Programs programs);

}  // namespace latecomer::verifier
