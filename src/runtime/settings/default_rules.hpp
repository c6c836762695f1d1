// The rules that communicators begin with.
#pragma once

#include <cstdint>
#include <memory>

#include "rules/rules.hpp"

namespace latecomer {

/// The rules in the file that the environment variable LATECOMER_RULES names; null: none. The file
/// is read once. One that cannot be read is reported on stderr, once a job, and not used.
[[nodiscard]] std::shared_ptr<const UserRules> default_rules();

/// A hash of the file's text, for ranks to compare; 0 if the variable is not set. It needs no MPI.
[[nodiscard]] std::uint64_t hash_of_default_rules();

}  // namespace latecomer
