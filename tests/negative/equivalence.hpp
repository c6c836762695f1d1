// Mutants that are no mistakes: the changed schedule does the same. Everything here is decided
// the slow and obvious way, without the verifier's or the builder's means.
#pragma once

#include "negative/mutants.hpp"

namespace latecomer::testing {

/// True if the mutant does the same as the original; equivalence.cpp lists the cases.
bool equivalent(const Program& original, const Mutant& mutant);

/// True if any two operations in conflict are ordered by dependencies, and all operations on input
/// or output follow the arrival: all pairs, with the full closure of `after`.
bool ordered(const Program& program);

/// True if two operations touch a common element and one of them writes it.
bool in_conflict(const Operation& one, const Operation& other);

}  // namespace latecomer::testing
