// Mutants that are no mistakes: the changed schedule does the same. Everything here is decided
// the slow and obvious way, without the verifier's or the builder's means.
#pragma once

#include "negative/mutants.hpp"

namespace latecomer::testing {

/// Whether the mutant does the same as the original; equivalence.cpp lists the cases.
bool equivalent(const Program& original, const Mutant& mutant);

/// Whether any two operations in conflict are ordered by dependencies, and whatever touches input
/// or output comes after the arrival: all pairs, with the full closure of `after`.
bool ordered(const Program& program);

/// Whether two operations touch a common element and one of them writes it.
bool in_conflict(const Operation& one, const Operation& other);

}  // namespace latecomer::testing
