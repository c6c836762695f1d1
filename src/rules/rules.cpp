#include "rules/rules.hpp"

#include <algorithm>

#include "base/parse.hpp"

namespace latecomer {
namespace {

/// "1 to 4", "at least 5", "at most 8".
template <class Number>
std::string in_words(const Limits<Number>& limits) {
  const auto text = [](Number value) { return format_number(static_cast<double>(value)); };
  if (limits.max == std::numeric_limits<Number>::max()) return "at least " + text(limits.min);
  if (limits.min == limits.max) return "exactly " + text(limits.min);
  if (limits.min <= 0) return "at most " + text(limits.max);
  return text(limits.min) + " to " + text(limits.max);
}

std::string milliseconds(Seconds seconds) { return format_digits(1e3 * seconds, 4) + " ms"; }

bool ranks_hold(const CommRules& entry, const Problem& problem) {
  return entry.ranks.hold(problem.ranks);
}

bool spread_holds(const CommRules& entry, const Problem& problem, const RuleFacts& facts) {
  if (entry.spread == Spread::any) return true;
  return facts.placement != nullptr && spread_of(*facts.placement, problem.ranks) == entry.spread;
}

/// Without a quotient, since a network may cost nothing. Where all arrive together the network does
/// not matter: ranks may not have compared it yet.
bool imbalance_holds(const UserRule& rule, const Problem& problem, const RuleFacts& facts) {
  if (rule.imbalance.any()) return true;
  const Seconds imbalance = imbalance_of(facts.arrivals);
  if (!(imbalance > 0)) return rule.imbalance.min <= 0;
  const Seconds transfer = facts.network->occupancy(problem.bytes());
  const bool bounded = rule.imbalance.max != std::numeric_limits<double>::max();
  return imbalance >= rule.imbalance.min * transfer &&
         (!bounded || imbalance <= rule.imbalance.max * transfer);
}

bool late_ranks_hold(const UserRule& rule, const RuleFacts& facts) {
  return rule.late_ranks.any() || rule.late_ranks.hold(late_ranks_of(facts.arrivals));
}

bool holds(const CommRules& entry, const Problem& problem, const RuleFacts& facts) {
  return ranks_hold(entry, problem) && spread_holds(entry, problem, facts);
}

bool holds(const UserRule& rule, const Problem& problem, const RuleFacts& facts) {
  return rule.bytes.hold(problem.bytes()) && imbalance_holds(rule, problem, facts) &&
         late_ranks_hold(rule, facts);
}

std::string obstacle(const CommRules& entry, const Problem& problem, const RuleFacts& facts) {
  if (!ranks_hold(entry, problem)) {
    return "for " + in_words(entry.ranks) + " ranks, and the communicator has " +
           std::to_string(problem.ranks);
  }
  if (spread_holds(entry, problem, facts)) return "";
  const std::string wanted = "for ranks that lie " + std::string(to_string(entry.spread));
  if (facts.placement == nullptr) return wanted + ", and it is not known how these lie";
  const Spread spread = spread_of(*facts.placement, problem.ranks);
  return wanted + ", and these do not: " +
         (spread == Spread::any ? "several nodes with several ranks"
                                : std::string(to_string(spread)));
}

std::string obstacle(const UserRule& rule, const Problem& problem, const RuleFacts& facts) {
  if (!rule.bytes.hold(problem.bytes())) {
    return "for " + in_words(rule.bytes) + " bytes, and the message has " +
           std::to_string(problem.bytes());
  }
  if (!imbalance_holds(rule, problem, facts)) {
    const Seconds transfer = facts.network->occupancy(problem.bytes());
    return "for an imbalance of " + in_words(rule.imbalance) +
           " transfer times, and the one expected is " +
           milliseconds(imbalance_of(facts.arrivals)) + ", where a transfer takes " +
           milliseconds(transfer);
  }
  if (late_ranks_hold(rule, facts)) return "";
  return "for " + in_words(rule.late_ranks) + " late ranks, and " +
         std::to_string(late_ranks_of(facts.arrivals)) + " are expected late";
}

}  // namespace

std::string_view to_string(Spread spread) {
  constexpr std::array<std::string_view, 3> kNames = {"any", "single-node", "one-per-node"};
  return kNames[static_cast<std::size_t>(spread)];
}

Seconds imbalance_of(std::span<const Seconds> arrivals) {
  if (arrivals.empty()) return 0;
  const auto [first, last] = std::ranges::minmax(arrivals);
  return last - first;
}

Rank late_ranks_of(std::span<const Seconds> arrivals) {
  if (arrivals.empty()) return 0;
  const auto [first, last] = std::ranges::minmax(arrivals);
  const auto is_late = [first = first, last = last](Seconds each) {
    return each - first > (last - first) / 2;
  };
  return static_cast<Rank>(std::ranges::count_if(arrivals, is_late));
}

Spread spread_of(const Placement& placement, Rank ranks) {
  if (ranks == 1) return Spread::single_node;
  if (!shares_nodes(placement)) return Spread::one_per_node;
  return Nodes(placement, ranks).count() == 1 ? Spread::single_node : Spread::any;
}

const UserRule* find_rule(const UserRules& rules, const Problem& problem, const RuleFacts& facts) {
  for (const CommRules& entry : rules[problem.collective]) {
    if (!holds(entry, problem, facts)) continue;
    for (const UserRule& rule : entry.rules) {
      if (holds(rule, problem, facts)) return &rule;
    }
    return nullptr;
  }
  return nullptr;
}

std::vector<const UserRule*> rules_for(const UserRules& rules, const Problem& problem,
                                       const RuleFacts& facts) {
  std::vector<const UserRule*> all;
  for (const CommRules& entry : rules[problem.collective]) {
    const bool unknown = entry.spread != Spread::any && facts.placement == nullptr;
    if (!ranks_hold(entry, problem) || (!unknown && !spread_holds(entry, problem, facts))) continue;
    for (const UserRule& rule : entry.rules) {
      if (!rule.bytes.hold(problem.bytes())) continue;
      all.push_back(&rule);
      if (!rule.asks_for_arrivals()) break;
    }
    if (!unknown) break;
  }
  return all;
}

std::vector<Considered> consider(const UserRules& rules, const Problem& problem,
                                 const RuleFacts& facts) {
  std::vector<Considered> all;
  for (const CommRules& entry : rules[problem.collective]) {
    all.push_back({entry.line, nullptr, obstacle(entry, problem, facts)});
    if (!all.back().obstacle.empty()) continue;
    for (const UserRule& rule : entry.rules) {
      all.push_back({rule.line, &rule, obstacle(rule, problem, facts)});
      if (all.back().obstacle.empty()) break;
    }
    break;
  }
  return all;
}

}  // namespace latecomer
