// Mutants that are no mistakes: the changed schedule does the same. Everything here is decided
// the slow and obvious way, without the verifier's or the builder's means.
#pragma once

#include "negative/mutants.hpp"

namespace latecomer::testing {

/// True if the mutant does the same as the original; equivalence.cpp lists the cases. `programs`
/// are those of all ranks, with the mutant.
bool equivalent(const Program& original, const Mutant& mutant,
                const std::vector<Program>& programs);

/// True if any two operations in conflict are ordered by dependencies, and all operations on input
/// or output follow the arrival: all pairs, with the full closure of `after`.
bool ordered(const Program& program);

/// True if any two operations of different ranks in conflict over a node's buffer are ordered by
/// dependencies, messages and flags, but accumulates on one flag: all pairs, with the full closure
/// over the begins and ends of all operations. False if they wait for each other in a circle.
bool race_free(const std::vector<Program>& programs);

/// True if all awaits ask for all that count on their flags, and flags are used as they may be.
bool counted_right(const std::vector<Program>& programs);

/// True if two operations touch a common element and one of them writes it.
bool in_conflict(const Operation& one, const Operation& other);

}  // namespace latecomer::testing
