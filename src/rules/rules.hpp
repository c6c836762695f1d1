// Rules: a user's own table of which algorithm serves which calls, by the size of the communicator
// and of the message, and by the arrivals that are expected (docs/rules.md). Rules refine
// `auto`: where another algorithm is set they do not count.
//
// A choice by a rule must be the same on all ranks. So rules ask only for what all ranks know
// alike: the problem, the expected arrivals, the network, and the placement of linked ranks.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/registry.hpp"
#include "base/network.hpp"
#include "schedule/placement.hpp"

namespace latecomer {

/// How the ranks of a communicator are spread over nodes.
enum class Spread : std::uint8_t { any, single_node, one_per_node };
[[nodiscard]] std::string_view to_string(Spread spread);

template <class Number>
struct Limits {
  Number min = 0;
  Number max = std::numeric_limits<Number>::max();

  [[nodiscard]] bool hold(Number value) const { return value >= min && value <= max; }
  [[nodiscard]] bool any() const { return min <= 0 && max == std::numeric_limits<Number>::max(); }
};

/// A rule of messages. `imbalance`: the last expected arrival minus the first, in times that the
/// message needs between two ranks. `late_ranks`: ranks that come in the later half of that time.
struct UserRule {
  int line = 0;
  int number = 0;  // within the file
  Limits<Count> bytes;
  Limits<double> imbalance;
  Limits<Rank> late_ranks;
  Choice choice;
  std::string text;  // of the choice

  [[nodiscard]] bool asks_for_arrivals() const { return !imbalance.any() || !late_ranks.any(); }
};

/// The rules of communicators of certain sizes.
struct CommRules {
  int line = 0;
  Limits<Rank> ranks;
  Spread spread = Spread::any;
  std::vector<UserRule> rules;
};

struct UserRules {
  std::array<std::vector<CommRules>, kCollectives> of;  // by collective
  std::optional<Network> network;                       // the costs that the file states
  std::uint64_t hash = 0;                               // of the text

  [[nodiscard]] const std::vector<CommRules>& operator[](Collective collective) const {
    return of[static_cast<std::size_t>(collective)];
  }
};

/// Facts beside the problem, equal on all ranks.
struct RuleFacts {
  std::span<const Seconds> arrivals;     // those expected; empty: all together, or not known
  const Placement* placement = nullptr;  // null: not known, since the ranks are not linked yet
  const Network* network = nullptr;
};

/// The last of the arrivals minus the first.
[[nodiscard]] Seconds imbalance_of(std::span<const Seconds> arrivals);
/// The ranks that arrive in the later half of the imbalance.
[[nodiscard]] Rank late_ranks_of(std::span<const Seconds> arrivals);

/// The rule that serves the call: in the first entry that holds for the communicator, the first
/// rule that holds for the call. Null: none.
[[nodiscard]] const UserRule* find_rule(const UserRules& rules, const Problem& problem,
                                        const RuleFacts& facts);
/// All rules that may serve calls of this problem, whatever arrivals will be, and a placement that
/// is not known.
[[nodiscard]] std::vector<const UserRule*> rules_for(const UserRules& rules, const Problem& problem,
                                                     const RuleFacts& facts);

/// An entry or a rule that was looked at, in order.
struct Considered {
  int line = 0;
  const UserRule* rule = nullptr;  // null: an entry
  std::string obstacle;            // why it does not hold, in words; "": it holds
};
[[nodiscard]] std::vector<Considered> consider(const UserRules& rules, const Problem& problem,
                                               const RuleFacts& facts);

// Reads rules from a text (docs/rules.md describes the form). A file may be hostile: the text is
// checked in full, with limits on all that could grow, before any of it is used.

inline constexpr std::size_t kMaxRulesBytes = 256 << 10;

/// `name`: of the file, for messages. Throws Error naming file, line, key and value.
[[nodiscard]] UserRules read_rules(std::string_view text, std::string_view name);

}  // namespace latecomer
