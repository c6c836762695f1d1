// Counterexamples, and their words.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schedule/program.hpp"

namespace latecomer {

struct Counterexample {
  std::string_view rule;
  std::string text;  // the fault, its place, and the operations that show it
};

}  // namespace latecomer

namespace latecomer::verifier {

using Programs = std::span<const Program>;
/// An operation of a rank. A message, as a step of an execution, is named by its receive.
struct Step {
  Rank rank;
  OpIndex index;
  bool operator==(const Step&) const = default;
};
[[nodiscard]] inline const Program& program_of(Programs programs, Step at) {
  return programs[static_cast<std::size_t>(at.rank)];
}
[[nodiscard]] inline const Operation& operation_of(Programs programs, Step at) {
  return program_of(programs, at).operations[at.index];
}
/// Nothing: the rule is kept.
using Finding = std::optional<Counterexample>;

/// "operation 3 (recv scratch[0:4] from 0)"
[[nodiscard]] inline std::string operation_text(const Program& program, OpIndex index) {
  return "operation " + std::to_string(index) + " (" + to_text(program.operations[index]) + ")";
}
/// "rank 1, operation 3 (recv scratch[0:4] from 0)"
[[nodiscard]] inline std::string place(const Program& program, OpIndex index) {
  return "rank " + std::to_string(program.me) + ", " + operation_text(program, index);
}
[[nodiscard]] inline std::string place(Programs programs, Step at) {
  return place(program_of(programs, at), at.index);
}
/// "1 element", "3 elements"
[[nodiscard]] inline std::string quantity(Count count, const std::string& noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

}  // namespace latecomer::verifier
