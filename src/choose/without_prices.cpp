// Decisions that ask no price: by the user's rules, and at random.
#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "choose/chooser.hpp"
#include "forecast/call_sequence.hpp"

namespace latecomer {

// Decisions by the user's rules (rules/rules.hpp).

/// The placement of ranks that are not linked is not known. In reproducible mode nothing counts but
/// the problem.
RuleFacts Chooser::facts(const std::vector<Seconds>& arrivals) const {
  if (policy_.reproducible) return {{}, nullptr, &kReproducible};
  return {arrivals, connected_ ? &pricer_.placement() : nullptr, &agreed_network()};
}

/// Null: none, or an algorithm was set.
const UserRule* Chooser::rule_for(const Problem& problem,
                                  const std::vector<Seconds>& arrivals) const {
  if (!policy_.rules || !policy_.automatic(problem.collective)) return nullptr;
  return find_rule(*policy_.rules, problem, facts(arrivals));
}

const Choice& Chooser::calm_choice(const Problem& problem) const {
  const UserRule* const rule = rule_for(problem, {});
  return rule != nullptr ? rule->choice : policy_.choice(problem.collective);
}

/// Where a rule chooses the library, arrivals matter if another rule may choose something else.
bool Chooser::chooses(const Problem& problem) const {
  if (policy_.reproducible || !policy_.automatic(problem.collective)) return false;
  if (!policy_.rules) return true;
  const Choice& calm = calm_choice(problem);
  if (is_automatic(calm)) return true;
  if (!is_native(*calm.algorithm)) return false;
  return std::ranges::any_of(
      rules_for(*policy_.rules, problem, facts({})),
      [](const UserRule* rule) { return !is_native(*rule->choice.algorithm); });
}

/// Sizes of a class may fall under different rules: these make classes of their own.
CallKey Chooser::key_of(const Problem& problem) const {
  CallKey key = class_key(problem);
  if (!policy_.rules || !policy_.automatic(problem.collective)) return key;
  for (const UserRule* rule : rules_for(*policy_.rules, problem, {})) {
    constexpr CallKey kFnvPrime = 0x100000001b3U;
    key = (key ^ static_cast<CallKey>(rule->number)) * kFnvPrime;
  }
  return key;
}

bool Chooser::may_run_ahead(const Problem& problem) const {
  const auto waits = [&](const Choice& choice) {
    if (seed_of(choice) > 0) return waits_at_random(seed_of(choice), problem);
    return waits_for_arrival(*choice.algorithm);
  };
  if (waits(policy_.choice(problem.collective))) return false;
  if (!policy_.rules || !policy_.automatic(problem.collective)) return true;
  return std::ranges::none_of(rules_for(*policy_.rules, problem, facts({})),
                              [&](const UserRule* rule) { return waits(rule->choice); });
}

/// Decides about a call of a class by the choice of a rule, which depends on arrivals. So these are
/// watched where the library is chosen too, at the same rate as under automatic choice.
Decision Chooser::decide_by_rule(const Choice& choice, const Problem& problem, bool announced) {
  CallClass& call_class = announced ? announced_class_of(problem) : class_of(problem);
  ++call_class.calls;
  call_class.used = ++events_;
  call_class.next_event = 0;
  if (!is_native(*choice.algorithm)) {
    call_class.balanced_in_a_row = 0;
    const Decision decision = decide_as(choice, problem, announced);
    note({call_class.key, choice.algorithm});  // no candidate: nothing to compare
    return decision;
  }
  candidates_.clear();
  know(problem.collective, announced);
  const std::uint64_t every = calls_between_exchanges(call_class, 0, problem);
  Decision decision{.row = choice.algorithm};
  decision.exchange_arrivals = call_class.unobserved + 1 >= every;
  call_class.unobserved = decision.exchange_arrivals ? 0 : call_class.unobserved + 1;
  rest(call_class, every, decision.exchange_arrivals);
  note({call_class.key, choice.algorithm});  // no candidate: nothing to compare
  return decision;
}

// Decisions at random (`auto:random=SEED`), so that tests meet all that the library can do, and not
// only what prices prefer. A draw depends on the seed, the problem, and the number of such calls,
// which all ranks know alike. Rank 0 alone counts announced calls and draws for them.

namespace {

Random draws_for(Count seed, const Problem& problem) {
  return Random(Random(static_cast<std::uint64_t>(seed)).next() ^ call_key(problem));
}

/// Gives each of the row's parameters a small value, or leaves it at its default.
Parameters some_parameters(const Algorithm& row, Random& random) {
  constexpr std::uint64_t kNumbers = 9;
  Parameters values;
  for (const Parameter& each : row.parameters) {
    if (each.waives || random.below(2) == 0) continue;
    const std::uint64_t many = each.choices.empty() ? kNumbers : each.choices.size();
    values[std::string(each.name)] = each.minimum + static_cast<Count>(random.below(many));
  }
  return values;
}

}  // namespace

void check_reproducible(const Choice& choice) {
  if (seed_of(choice) == 0) return;
  throw Error("algorithm in reproducible mode", "auto:random=" + std::to_string(seed_of(choice)),
              "one that is the same in every call");
}

/// Half of the problems are never announced, so that these calls meet rows that wait.
bool Chooser::waits_at_random(Count seed, const Problem& problem) {
  return draws_for(seed, problem).below(2) == 0;
}

/// Rows that refuse the problem, or the values drawn for their parameters, are drawn again without.
Decision Chooser::decide_at_random(Count seed, const Problem& problem, bool announced) {
  const std::uint64_t call = announced ? announced_drawn_calls_++ : drawn_calls_++;
  Random random(draws_for(seed, problem).next() + call);
  std::vector<const Algorithm*> rows;
  for (const Algorithm& row : registry(problem.collective)) {
    if (!row.automatic() && !(announced && waits_for_arrival(row))) rows.push_back(&row);
  }
  ruled_ = &drawn_;
  while (true) {  // `native` takes every problem
    const auto at = rows.begin() + static_cast<std::ptrdiff_t>(random.below(rows.size()));
    drawn_ = {*at, some_parameters(**at, random)};
    Decision decision = decide_as(drawn_, problem, announced);
    if (decision.action != Decision::Action::refused) return decision;
    rows.erase(at);
  }
}

}  // namespace latecomer
