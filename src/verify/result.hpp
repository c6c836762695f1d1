// Rules on the ranks' elements at the end: index (every element at its place), delivery,
// same-tree, same-slices.
#pragma once

#include "verify/values.hpp"

namespace latecomer::verifier {

[[nodiscard]] Finding check_places(const Problem& problem, Programs programs, const Values& values);
[[nodiscard]] Finding check_delivery(const Problem& problem, Programs programs,
                                     const Values& values);
[[nodiscard]] Finding check_same_tree(const Problem& problem, Programs programs,
                                      const Values& values);
[[nodiscard]] Finding check_same_slices(const Problem& problem, Programs programs,
                                        const Values& values);

}  // namespace latecomer::verifier
