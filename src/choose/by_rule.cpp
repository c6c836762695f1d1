// Decisions by the user's rules (rules/rules.hpp).
#include <algorithm>

#include "choose/chooser.hpp"

namespace latecomer {

/// The placement of ranks that are not linked is not known. In reproducible mode nothing counts but
/// the problem.
RuleFacts Chooser::facts(const std::vector<Seconds>& arrivals) const {
  if (policy_.reproducible) return {{}, nullptr, &kReproducible};
  return {arrivals, connected_ ? &pricer_.placement() : nullptr, &policy_.network};
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

}  // namespace latecomer
