#include "rules/rules.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/parse.hpp"
#include "base/reproducible.hpp"

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

Spread spread_of(const Placement& placement, Rank ranks) {
  if (ranks == 1) return Spread::single_node;
  if (!shares_nodes(placement)) return Spread::one_per_node;
  return Nodes(placement, ranks).count() == 1 ? Spread::single_node : Spread::any;
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

namespace {

constexpr int kVersion = 1;
constexpr std::size_t kMaxEntries = 256;  // of a collective
constexpr std::size_t kMaxRules = 256;    // of an entry
constexpr double kMaxFactor = 1e9;

/// A value, and the way to it, such as "collectives.allreduce[0].rules[2]".
struct Place {
  std::string_view file;
  const JsonValue& value;
  std::string path;

  [[noreturn]] void refuse(const std::string& right) const { refuse(shown(value), right); }
  [[noreturn]] void refuse(const std::string& found, const std::string& right) const {
    throw Error(std::string(file) + ", line " + std::to_string(value.line) +
                    (path.empty() ? "" : ", " + path),
                found, right);
  }
  [[nodiscard]] Place member(const JsonValue::Member& member) const {
    return {file, member.second, path.empty() ? member.first : path + '.' + member.first};
  }
};

/// The members of an object, each of which must be read.
class Members {
 public:
  Members(Place place, std::span<const std::string_view> known) : place_(std::move(place)) {
    if (place_.value.kind != JsonValue::Kind::object) place_.refuse("an object");
    for (const JsonValue::Member& each : place_.value.members) {
      if (std::ranges::find(known, each.first) != known.end()) continue;
      std::string names;
      for (const std::string_view name : known) {
        names += (names.empty() ? "one of the keys " : ", ") + std::string(name);
      }
      const JsonValue key{
          .kind = JsonValue::Kind::text, .line = each.second.line, .text = each.first};
      Place{place_.file, key, place_.path}.refuse(names);
    }
  }

  [[nodiscard]] std::optional<Place> find(std::string_view name) const {
    const auto found = std::ranges::find(place_.value.members, name, &JsonValue::Member::first);
    if (found == place_.value.members.end()) return std::nullopt;
    return place_.member(*found);
  }
  [[nodiscard]] Place need(std::string_view name) const {
    if (auto found = find(name)) return *found;
    place_.refuse("no " + std::string(name), "an object with the key " + std::string(name));
  }
  /// A text of visible ASCII characters.
  [[nodiscard]] static const std::string& text(const Place& place, const std::string& right) {
    const auto visible = [](char c) { return c >= ' ' && c <= '~'; };
    const bool good =
        place.value.kind == JsonValue::Kind::text && std::ranges::all_of(place.value.text, visible);
    if (!good) place.refuse(right);
    return place.value.text;
  }
  /// Comments are for people: of any text, and not used.
  void check_comment() const {
    const auto comment = find("comment");
    if (comment && comment->value.kind != JsonValue::Kind::text) comment->refuse("a text");
  }

  /// The two limits of a quantity, by the keys NAME_min and NAME_max.
  template <class Number>
  [[nodiscard]] Limits<Number> limits(const std::string& name, double least, double most) const {
    Limits<Number> all;
    const auto min = find(name + "_min");
    if (min) all.min = number<Number>(*min, least, most, "");
    const auto max = find(name + "_max");
    const bool endless =
        max && max->value.kind == JsonValue::Kind::text && max->value.text == "inf";
    if (max && !endless) all.max = number<Number>(*max, least, most, " or \"inf\"");
    if (max && !endless && all.max < all.min) {
      max->refuse("at least " + name + "_min, which is " + (min ? shown(min->value) : "0"));
    }
    return all;
  }

 private:
  template <class Number>
  static Number number(const Place& place, double least, double most, const std::string& or_else) {
    const double value = place.value.number;
    const bool whole = std::is_integral_v<Number>;
    const bool good = place.value.kind == JsonValue::Kind::number && value >= least &&
                      value <= most && (!whole || value == std::floor(value));
    const JsonValue low{.kind = JsonValue::Kind::number, .number = least};
    const JsonValue high{.kind = JsonValue::Kind::number, .number = most};
    if (!good) {
      place.refuse((whole ? "a whole number from " : "a number from ") + shown(low) + " to " +
                   shown(high) + or_else);
    }
    return static_cast<Number>(value);
  }

  Place place_;
};

template <class Read>
void read_list(const Place& place, std::size_t most, Read&& read) {
  if (place.value.kind != JsonValue::Kind::list) place.refuse("a list");
  const auto& items = place.value.items;
  if (items.size() > most) {
    place.refuse(std::to_string(items.size()) + " of them", "at most " + std::to_string(most));
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    read(Place{place.file, items[i], place.path + '[' + std::to_string(i) + ']'});
  }
}

Choice read_choice(const Place& place, Collective collective) {
  const std::string text =
      Members::text(place, "an algorithm's name as a text, with parameters after colons");
  try {
    return parse_choice(collective, text);
  } catch (const Error& error) {
    place.refuse(shown(place.value), error.remedy());
  }
}

Spread read_spread(const Place& place) {
  for (const Spread each : {Spread::any, Spread::single_node, Spread::one_per_node}) {
    const bool text = place.value.kind == JsonValue::Kind::text;
    if (text && place.value.text == to_string(each)) return each;
  }
  place.refuse("any, single-node or one-per-node");
}

UserRule read_rule(const Place& place, Collective collective) {
  constexpr std::string_view kKeys[] = {
      "msg_size_min",   "msg_size_max", "imbalance_min", "imbalance_max",  "late_ranks_min",
      "late_ranks_max", "alg",          "comment",       "measured_ratio",
  };
  const Members members(place, kKeys);
  members.check_comment();
  UserRule rule;
  rule.line = place.value.line;
  rule.bytes = members.limits<Count>("msg_size", 0, 0x1.0p53);
  rule.imbalance = members.limits<double>("imbalance", 0, kMaxFactor);
  rule.late_ranks = members.limits<Rank>("late_ranks", 0, std::numeric_limits<Rank>::max());
  const Place algorithm = members.need("alg");
  rule.choice = read_choice(algorithm, collective);
  rule.text = algorithm.value.text;
  const auto ratio = members.find("measured_ratio");
  const bool good = !ratio || (ratio->value.kind == JsonValue::Kind::number &&
                               ratio->value.number > 0 && ratio->value.number <= kMaxFactor);
  if (!good) ratio->refuse("a number above 0");
  return rule;
}

CommRules read_entry(const Place& place, Collective collective, Spread spread) {
  constexpr std::string_view kKeys[] = {"comm_size_min", "comm_size_max", "comm_rank_distribution",
                                        "rules", "comment"};
  const Members members(place, kKeys);
  members.check_comment();
  CommRules entry;
  entry.line = place.value.line;
  entry.ranks = members.limits<Rank>("comm_size", 0, std::numeric_limits<Rank>::max());
  const auto own = members.find("comm_rank_distribution");
  entry.spread = own ? read_spread(*own) : spread;
  read_list(members.need("rules"), kMaxRules,
            [&](const Place& each) { entry.rules.push_back(read_rule(each, collective)); });
  return entry;
}

void read_collectives(const Place& place, Spread spread, UserRules& rules) {
  std::vector<std::string_view> names;
  for (const Collective each : all_collectives()) names.push_back(to_string(each));
  const Members members(place, names);
  int numbered = 0;
  for (const Collective collective : all_collectives()) {
    const auto entries = members.find(to_string(collective));
    if (!entries) continue;
    read_list(*entries, kMaxEntries, [&](const Place& each) {
      CommRules entry = read_entry(each, collective, spread);
      for (UserRule& rule : entry.rules) rule.number = ++numbered;
      rules.of[static_cast<std::size_t>(collective)].push_back(std::move(entry));
    });
  }
}

Network read_costs(const Place& place) {
  const std::string text = Members::text(place, "costs as a text, as in alpha=50us,beta=8ns");
  try {
    return parse_network(text);
  } catch (const Error& error) {
    place.refuse(shown(place.value), error.remedy());
  }
}

}  // namespace

UserRules read_rules(std::string_view text, std::string_view name) {
  constexpr std::string_view kKeys[] = {"$schema",    "rule_file_version", "module",
                                        "comment",    "network",           "comm_rank_distribution",
                                        "collectives"};
  const JsonValue top = read_json(text, name, {.bytes = kMaxRulesBytes});
  const Members members({name, top, ""}, kKeys);
  members.check_comment();
  const Place version = members.need("rule_file_version");
  const bool known =
      version.value.kind == JsonValue::Kind::number && version.value.number == kVersion;
  if (!known) version.refuse(std::to_string(kVersion));
  const Place module = members.need("module");
  if (module.value.kind != JsonValue::Kind::text || module.value.text != "latecomer") {
    module.refuse("latecomer: rules of other libraries name other algorithms");
  }
  UserRules rules;
  rules.hash = std::max<std::uint64_t>(1, fnv1a(text));  // 0: no rules
  if (const auto schema = members.find("$schema")) (void)Members::text(*schema, "a text");
  if (const auto costs = members.find("network")) rules.network = read_costs(*costs);
  const auto spread = members.find("comm_rank_distribution");
  read_collectives(members.need("collectives"), spread ? read_spread(*spread) : Spread::any, rules);
  return rules;
}

}  // namespace latecomer
