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

/// The complete plan, the same on every rank that calls it with the same arguments. Throws Error
/// for a problem or parameters that the algorithm does not take, and for arrivals of another
/// length than the ranks.
[[nodiscard]] Plan make_plan(const Algorithm& algorithm, const Problem& problem,
                             const Parameters& parameters, const Knowledge& knowledge);

/// A plan of the same row for another problem of about the same size, without the search that found
/// `representative`. Parameters that are not in `fixed` are filled in anew, or taken over where
/// that takes long (`Parameter::taken_over`).
[[nodiscard]] Plan plan_like(const Plan& representative, const Problem& problem,
                             const Parameters& fixed, const Knowledge& knowledge);

/// Throws Error for a plan, read from a text, that make_plan cannot have made, as far as building
/// its programs would go wrong.
void check_plan(const Plan& plan);
/// Throws Error for a parameter that the algorithm does not have, or not with such a value.
void check_parameter(const Algorithm& algorithm, std::string_view name, Count value);
/// Throws Error for an operator that the algorithm does not take.
void check_accepts(const Algorithm& algorithm, const Problem& problem);

/// The cost by the plan's row; nothing for one rank.
[[nodiscard]] Cost cost_of(const Plan& plan);
/// Transfers no data: all ranks tell each other, as beside a call that another library carries out.
[[nodiscard]] Plan arrival_exchange_plan(const Problem& problem);

/// Throws Error for a rank that the plan does not know.
void check_rank(const Plan& plan, Rank me);

/// One rank's program, in time proportional to its own operations. Throws Error for a row that runs
/// none.
[[nodiscard]] Program build_program(const Plan& plan, Rank me);
[[nodiscard]] std::vector<Program> build_programs(const Plan& plan);

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
