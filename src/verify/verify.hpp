// Checks the programs of all ranks without running them: every rule that a schedule must keep,
// with a counterexample in words for the first one that it breaks. The cost depends on the number
// of operations, not on the number of elements.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "verify/words.hpp"

namespace latecomer {

struct Rule {
  std::string_view name;
  std::string_view meaning;
};

/// All rules, in the order in which they are checked: a counterexample of one rule says that all
/// rules before it are kept. The exceptions are `undefined` to `order`, which are checked together,
/// operation by operation in an order of execution. `same-tree` and `same-slices` come last: with
/// an exact operator their counterexamples may be passed over.
[[nodiscard]] std::span<const Rule> rules();

/// `programs[r]` is rank r's; they may be from any source and are checked entirely. Returns no
/// counterexample if they carry out the problem in every order of arrivals and messages.
[[nodiscard]] std::optional<Counterexample> verify(const Problem& problem,
                                                   std::span<const Program> programs);
/// The same for programs that stand under a plan: they follow it.
[[nodiscard]] std::optional<Counterexample> verify(const Schedule& schedule);

}  // namespace latecomer
