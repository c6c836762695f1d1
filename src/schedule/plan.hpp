// A plan: all that the ranks agree on before a call. Made once, the same on every rank, cached
// and hashed. A program (program.hpp) is one rank's part of it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/network.hpp"
#include "base/types.hpp"
#include "schedule/placement.hpp"
#include "schedule/problem.hpp"

namespace latecomer {

/// The progress mode: with `background`, operations that do not depend on the local arrival may run
/// before it.
enum class Progress : std::uint8_t { foreground, background };
[[nodiscard]] std::string_view to_string(Progress progress);

using Parameters = std::map<std::string, Count, std::less<>>;

/// Facts that are provably equal on all ranks when they plan.
struct Knowledge {
  std::vector<Seconds> arrivals;  // one per rank; empty: all arrive together
  Network network;
  bool telemetry = false;   // the call's messages carry arrival stamps
  bool background = false;  // every rank has a progress thread that runs ahead of its arrival
  // NOLINTNEXTLINE(readability-redundant-member-init)
  Placement placement = {};  // where ranks share memory; otherwise empty
  /// The ranks that mostly come late; empty: no call was watched.
  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::vector<bool> mostly_late = {};

  /// A number for each rank: those with the least get the tasks that others wait for. Empty: any.
  [[nodiscard]] std::vector<Seconds> for_tasks() const {
    return mostly_late.empty() ? arrivals
                               : std::vector<Seconds>(mostly_late.begin(), mostly_late.end());
  }
};

struct Plan {
  std::string algorithm;
  Problem problem;
  Parameters parameters;
  std::vector<Rank> order;   // ranks by position in the algorithm's pattern, where it has one
  std::vector<Count> table;  // numbers the algorithm derived from the arrivals
  Progress progress = Progress::foreground;
  bool telemetry = false;  // messages carry arrival stamps
  // NOLINTNEXTLINE(readability-redundant-member-init)
  Placement placement = {};  // of plans that use the memory of nodes; otherwise empty
  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::vector<Plan> inner = {};  // the plans that run among the nodes, where a row lifts others

  bool operator==(const Plan&) const = default;
};

/// Equal on two ranks exactly if they agree on everything but the local `in_place`.
[[nodiscard]] std::uint64_t hash(const Plan& plan);

/// "reduce of 1000 x 4 bytes with root 2 by binomial": for messages.
[[nodiscard]] std::string in_words(const Plan& plan);

/// The first line of the text form.
inline constexpr std::string_view kPlanTitle = "latecomer-plan 1";
/// The text form, one `name value` a line; parse_plan reads it back.
[[nodiscard]] std::string to_text(const Plan& plan);
/// Throws Error naming the line that cannot be read.
[[nodiscard]] Plan parse_plan(std::string_view text);

/// Positions sorted by arrival, earliest first, ties by rank. Without arrivals: 0, 1, ..., P-1.
[[nodiscard]] std::vector<Rank> order_by_arrival(Rank ranks, const std::vector<Seconds>& arrivals);
/// The ranks from `first` on, cyclically.
[[nodiscard]] std::vector<Rank> rotated_order(Rank ranks, Rank first);
/// A rank's position in the plan's order.
[[nodiscard]] Rank position_of(const Plan& plan, Rank rank);

}  // namespace latecomer
