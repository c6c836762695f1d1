// The registry: one row for each algorithm. The command line, tests, documentation, benchmark,
// simulator and bindings enumerate it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/row.hpp"

namespace latecomer {

/// All rows, by collective and name.
[[nodiscard]] std::span<const Algorithm> registry();
/// The rows of one collective.
[[nodiscard]] std::span<const Algorithm> registry(Collective collective);
/// The rows that are declared, and `native` of every collective. Throws Error for a row that lacks
/// a required member, and for two rows of one name.
[[nodiscard]] std::vector<Algorithm> make_rows(std::span<const DeclaredRow> declared);

/// Throws Error naming the known names.
[[nodiscard]] const Algorithm& find_algorithm(Collective collective, std::string_view name);
/// The MPI library's own collective.
[[nodiscard]] const Algorithm& native_row(Collective collective);
/// The row that stands for the best of the balanced ones.
[[nodiscard]] const Algorithm& fastest_row(Collective collective);

/// True if the algorithm can carry out the problem; if not, `why` gets the reason.
[[nodiscard]] bool accepts(const Algorithm& algorithm, const Problem& problem, std::string* why);

/// Throws Error for a parameter that the algorithm does not have, or not with such a value.
void check_parameter(const Algorithm& algorithm, std::string_view name, Count value);
/// Throws Error for an operator that the algorithm does not take.
void check_accepts(const Algorithm& algorithm, const Problem& problem);

/// "name" or "name:parameter=value:parameter=value", read against the registry.
struct Choice {
  const Algorithm* algorithm = nullptr;
  Parameters parameters;

  bool operator==(const Choice&) const = default;
};
[[nodiscard]] Choice parse_choice(Collective collective, std::string_view text);
/// The parameter of `auto` that draws an algorithm for each call.
inline constexpr std::string_view kRandom = "random";
/// Its value, the seed of the draws; 0: nothing is drawn.
[[nodiscard]] Count seed_of(const Choice& choice);
/// "segments=16 override=ring": the parameters of a plan as users write them. If another algorithm
/// was asked for than the plan's, "as=ring" comes first.
[[nodiscard]] std::string describe_parameters(const Plan& plan, std::string_view asked = {});

}  // namespace latecomer
