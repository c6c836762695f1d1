// The registry: one row for each algorithm. The command line, tests, documentation, benchmark,
// simulator and bindings enumerate it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/party.hpp"
#include "schedule/builder.hpp"
#include "schedule/plan.hpp"

namespace latecomer {

/// program: runs a program on the engine; protocol: a state machine that decides while it runs;
/// native: the MPI library's own collective.
enum class Kind : std::uint8_t { program, protocol, native };
[[nodiscard]] std::string_view to_string(Kind kind);

/// What the busiest rank does when all arrive together: the closed form that tests compare with
/// the counted program.
struct Cost {
  Count rounds = 0;    // transfers that follow each other on the longest path
  Count sent = 0;      // elements, by the rank that sends most
  Count combined = 0;  // elements, by the rank that combines most
};

/// Of a parameter whose default takes long to find, when a plan is made like another one.
enum class TakenOver : std::uint8_t { no, as_it_is, in_proportion };

struct Parameter {
  std::string_view name;
  std::string_view meaning;  // with its default
  Count minimum;
  std::vector<std::string_view> choices;  // names of the values 0, 1, ...; empty: a number
  bool factors = false;                   // or a list such as 12x2x2 (base/factors.hpp)
  TakenOver taken_over = TakenOver::no;
};

struct Algorithm {
  std::string_view name;
  Collective collective;
  Kind kind;
  bool arrival_aware;
  bool commutative_only;
  Count scratch_messages;  // scratch per rank is at most this many times the message
  std::vector<Parameter> parameters;
  std::string_view cost_formula;  // in alpha, beta, gamma, m bytes, P ranks
  std::string_view source;

  /// Fills in the parameters that are missing, the order and the table. Null for native.
  void (*complete)(Plan& plan, const Knowledge& knowledge);
  /// Writes the operations of one rank of a complete plan. Null for what runs no program.
  void (*build)(const Plan& plan, Builder& builder);
  /// Throws Error for the ranks, order or table of a plan that was read, where `complete` cannot
  /// have made such. Null: its plans have neither order nor table.
  void (*check)(const Plan& plan) = nullptr;
  /// Null for native.
  Cost (*cost)(const Plan& plan);
  /// How long it takes, by its closed form, when all arrive together. Null for native.
  Seconds (*time)(const Plan& plan, const Network& network) = nullptr;
  /// The mean over the ranks of exit minus last arrival, by a closed form, when they arrive so (one
  /// entry a rank, seconds). Null: as when all arrive together.
  Seconds (*time_after_last)(const Plan& plan, const Network& network,
                             const std::vector<Seconds>& arrivals) = nullptr;
  /// Whether its messages tell all ranks of each other (docs/decisions/0012). Null: no. Where they
  /// do not, empty messages tell besides.
  bool (*tells)(const Plan& plan) = nullptr;
  /// Whether it may be worth the time of planning where nobody asks for it by name. Null: always.
  bool (*worth_planning)(const Problem& problem, const Network& network) = nullptr;
  /// What takes part in a protocol's calls, of one rank of a complete plan. Null for others.
  std::unique_ptr<Party> (*party)(const Plan& plan, Rank me) = nullptr;
};

/// All rows, by collective and name.
[[nodiscard]] std::span<const Algorithm> registry();
/// Those of one collective.
[[nodiscard]] std::span<const Algorithm> registry(Collective collective);

/// Throws Error naming the known names.
[[nodiscard]] const Algorithm& find_algorithm(Collective collective, std::string_view name);

/// Whether the algorithm can carry out the problem; if not, `why` says what it needs.
[[nodiscard]] bool accepts(const Algorithm& algorithm, const Problem& problem, std::string* why);

/// Whether who chooses among the rows should look at it.
[[nodiscard]] inline bool may_pay(const Algorithm& row, const Problem& problem,
                                  const Network& network) {
  const bool worth = row.worth_planning == nullptr || row.worth_planning(problem, network);
  return worth && accepts(row, problem, nullptr);
}

/// The complete plan, the same on every rank that calls it with the same arguments. Throws Error
/// for a problem or parameters that the algorithm does not take, and for arrivals of another
/// length than the ranks.
[[nodiscard]] Plan make_plan(const Algorithm& algorithm, const Problem& problem,
                             const Parameters& parameters, const Knowledge& knowledge);

/// A plan of the same row for another problem of about the same size, without the search that found
/// `representative`. What `fixed` does not name is filled in anew, or taken over where that takes
/// long (`Parameter::taken_over`).
[[nodiscard]] Plan plan_like(const Plan& representative, const Problem& problem,
                             const Parameters& fixed, const Knowledge& knowledge);

/// For a plan that came as a text: throws Error for what make_plan cannot have made, as far as
/// building its programs would go wrong.
void check_plan(const Plan& plan);
/// Throws Error for a parameter that the algorithm does not have, or not with such a value.
void check_parameter(const Algorithm& algorithm, std::string_view name, Count value);
/// Throws Error for an operator that the algorithm does not take.
void check_accepts(const Algorithm& algorithm, const Problem& problem);

/// Seconds when all arrive together, links being rested: the row's closed form less what a burst
/// saves.
[[nodiscard]] Seconds balanced_time(const Plan& plan, const Network& network);

/// The mean over the ranks of exit minus last arrival that is to be expected, links being rested.
/// `arrivals` empty: all arrive together.
[[nodiscard]] Seconds mean_after_last(const Plan& plan, const Network& network,
                                      const std::vector<Seconds>& arrivals);

/// Moves no data: all ranks tell each other, as beside a call that another library carries out.
[[nodiscard]] Plan telling_plan(const Problem& problem);

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
/// "segments=16 override=ring": the parameters of a plan as users write them.
/// Where another algorithm was asked for than the plan's, "as=ring" comes first.
[[nodiscard]] std::string describe_parameters(const Plan& plan, std::string_view asked = {});

}  // namespace latecomer
