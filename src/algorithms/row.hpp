// A row of the registry: the properties of an algorithm, its cost, and the macro with which a file
// of this folder declares it.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "base/network.hpp"
#include "protocol/protocol.hpp"
#include "schedule/builder.hpp"
#include "schedule/plan.hpp"
#include "schedule/problem.hpp"

namespace latecomer {

// The cost of a plan if all ranks arrive together, and the time that follows by Hockney's model.

/// The parts of a call's time. Tests compare each count with the time that the program takes longer
/// on a virtual network where this part is dearer.
struct Cost {
  Count rounds = 0;     // transfers that follow each other: start-ups
  Count sent = 0;       // elements of these transfers
  Count combined = 0;   // at most so many elements combined in between, hidden by no transfer
  Count exchanged = 0;  // part of `sent` that two ranks send each other at the same time
  bool paced = false;   // short messages wait for their receivers as long ones do
};

/// Returns seconds by Hockney's model (Parallel Computing 20, 1994): so many rounds of messages of
/// equal length, and the combining.
[[nodiscard]] inline Seconds hockney_time(const Problem& problem, const Cost& cost,
                                          const Network& network) {
  if (cost.rounds == 0) return 0;
  const auto rounds = static_cast<double>(cost.rounds);
  const auto bytes = [&](Count elements) {
    return static_cast<double>(elements * problem.element_bytes);
  };
  Seconds time = rounds * network.alpha + network.beta * bytes(cost.sent) +
                 network.gamma * bytes(cost.combined);
  const bool eager = bytes(cost.sent) / rounds <= static_cast<double>(network.eager_limit);
  if (eager && !cost.paced) return time;
  time += rounds * network.handshake;
  if (eager || cost.exchanged == 0) return time;
  const double both_ways = bytes(cost.exchanged) / bytes(cost.sent);
  return time + (network.exchange - 1) *
                    (network.beta * bytes(cost.exchanged) + both_ways * rounds * network.alpha);
}

/// The cost of two plans that run one after the other.
[[nodiscard]] inline Cost operator+(const Cost& first, const Cost& then) {
  return {first.rounds + then.rounds, first.sent + then.sent, first.combined + then.combined,
          first.exchanged + then.exchanged, first.paced || then.paced};
}

/// Returns the mean exit minus the last arrival, seconds; one entry a rank, in any order.
[[nodiscard]] inline Seconds mean_exit_after_last(const std::vector<Seconds>& exits,
                                                  const std::vector<Seconds>& arrivals) {
  const Seconds sum = std::accumulate(exits.begin(), exits.end(), Seconds{0});
  return sum / static_cast<Seconds>(exits.size()) - std::ranges::max(arrivals);
}

/// program: runs a program on the engine; protocol: a state machine that decides while it runs;
/// native: the MPI library's own collective.
enum class Kind : std::uint8_t { program, protocol, native };
[[nodiscard]] std::string_view to_string(Kind kind);

/// A default that takes long to find, when a plan is made like another one.
enum class TakenOver : std::uint8_t { no, as_it_is, in_proportion };

struct Parameter {
  std::string_view name;
  std::string_view meaning;  // with its default
  Count minimum;
  std::vector<std::string_view> choices;  // names of the values 0, 1, ...; empty: a number
  bool factors = false;                   // or a list such as 12x2x2 (base/parse.hpp)
  TakenOver taken_over = TakenOver::no;
  bool waives = false;          // a value may give up what all calls promise: a user alone sets it
  bool names_programs = false;  // the choices are the collective's programs: the registry's to set
};

/// A row gives the members that have no default, and `build` or `executor`; others where they
/// differ.
struct Algorithm {
  // GCC reports members that have no initialiser where a row leaves them out.
  // NOLINTBEGIN(readability-redundant-member-init)

  // Set by the registry.
  std::string_view name = {};
  Collective collective = Collective::allgather;
  Kind kind = Kind::program;

  bool arrival_aware = false;
  /// Its plans are those of the best other row: of the balanced ones, or, for an arrival-aware row,
  /// of all.
  bool stands_for_others = false;
  bool lifts = false;        // runs another row among the nodes, where ranks share them
  bool coordinated = false;  // all wait for a rank, which should be one that comes early
  bool commutative_only = false;
  bool runs_ahead = false;     // of a protocol: a progress thread does something before the arrival
  Count scratch_messages = 1;  // scratch per rank is at most this many times the message
  std::vector<Parameter> parameters = {};
  // NOLINTEND(readability-redundant-member-init)
  std::string_view cost_formula;  // in alpha, beta, gamma, m bytes, P ranks
  std::string_view source;

  /// Fills in the parameters that are missing, the order and the table. Null: there are none.
  void (*fill_plan)(Plan& plan, const Knowledge& knowledge) = nullptr;
  /// Writes the operations of one rank of a filled plan for two ranks or more. Null for rows that
  /// run no program.
  void (*build)(const Plan& plan, Builder& builder) = nullptr;
  /// Throws Error for a plan, read from a text, with ranks, order or table that `fill_plan` cannot
  /// have made. Null: its plans have neither order nor table.
  void (*check)(const Plan& plan) = nullptr;
  /// For two ranks or more. Null for native.
  Cost (*cost)(const Plan& plan);
  /// The mean over the ranks of exit minus last arrival, seconds, by a closed form, for the given
  /// arrivals (one entry a rank, seconds). Null: its price is found by running the programs on the
  /// virtual network.
  Seconds (*mean_after_last)(const Plan& plan, const Network& network,
                             const std::vector<Seconds>& arrivals) = nullptr;
  /// True if its messages tell all ranks of each other (docs/decisions/0012). Otherwise empty
  /// messages are added that do. Null: false.
  bool (*informs_all)(const Plan& plan) = nullptr;
  /// True if it may be worth the time of planning where no user asks for it by name. Null: always.
  bool (*worth_planning)(const Problem& problem, const Network& network) = nullptr;
  /// Makes one rank's part in a protocol's calls, by a filled plan. Null for other kinds.
  std::unique_ptr<Executor> (*executor)(const Plan& plan, Rank me) = nullptr;

  /// True if its plans let a progress thread run ahead of the arrival unless the user asks for
  /// something else.
  [[nodiscard]] bool prefers_background() const { return arrival_aware || runs_ahead; }
  /// True for the row that chooses among all others.
  [[nodiscard]] bool automatic() const { return stands_for_others && arrival_aware; }
  /// True for a row that runs one program of its own, whatever others are called.
  [[nodiscard]] bool is_program() const {
    return kind == Kind::program && !lifts && !stands_for_others;
  }
};

/// The parameter of programs that says whether a thread may run ahead of the arrival.
inline constexpr std::string_view kProgress = "progress";

/// `informs_all` of rows whose messages always tell all ranks of each other.
inline bool always_informs(const Plan& /*plan*/) { return true; }
/// The same where there are any: a call without elements has no messages.
inline bool informs_unless_empty(const Plan& plan) { return plan.problem.count > 0; }

/// `executor` of rows whose executors are of this type.
template <class Made>
std::unique_ptr<Executor> executor_of(const Plan& plan, Rank me) {
  return std::make_unique<Made>(plan, me);
}

/// Declares the algorithm `name` of `collective`, or of `every` collective; the row that its body
/// returns follows. It stands in the namespace latecomer::collective of a file of this folder,
/// where the build (cmake/rows.cmake) finds it and lists it in `declared_rows`.
#define LATECOMER_ROW(collective, name) ::latecomer::Algorithm row_##name()

struct DeclaredRow {
  std::string_view collective;  // or "every"
  std::string_view name;
  Algorithm (*row)();
};
/// All that this folder declares, in no order.
[[nodiscard]] std::span<const DeclaredRow> declared_rows();

}  // namespace latecomer
