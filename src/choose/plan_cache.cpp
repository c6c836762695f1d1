#include "choose/plan_cache.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace latecomer {
namespace {

bool answers(const CachedPlan& cached, const Choice& choice, const Problem& problem,
             const Knowledge& asked) {
  const Knowledge& known = cached.knowledge;
  if (cached.problem != problem || !(cached.asked == choice)) return false;
  if (known.telemetry != asked.telemetry || !(known.network == asked.network)) return false;
  if (known.placement.empty() != asked.placement.empty()) return false;
  return !choice.algorithm->arrival_aware ||
         (known.arrivals == asked.arrivals && known.background == asked.background);
}

std::size_t bytes_of(const Plan& plan) {
  std::size_t bytes = sizeof(Plan) + (plan.order.size() + plan.placement.size()) * sizeof(Rank) +
                      (plan.table.size() + plan.problem.parts.size()) * sizeof(Count);
  for (const Plan& inner : plan.inner) bytes += bytes_of(inner);
  return bytes;
}

/// The bytes of an entry, equal on all ranks. Programs are kept elsewhere.
std::size_t bytes_of(const CachedPlan& cached) {
  return sizeof(CachedPlan) + cached.knowledge.arrivals.size() * sizeof(Seconds) +
         cached.knowledge.placement.size() * sizeof(Rank) +
         cached.problem.parts.size() * sizeof(Count) + bytes_of(*cached.plan);
}

}  // namespace

const CachedPlan* PlanCache::find(const Choice& choice, const Problem& problem,
                                  const Knowledge& knowledge) {
  const auto newest_first = entries_ | std::views::reverse;
  const auto found = std::ranges::find_if(newest_first, [&](const CachedPlan& each) {
    return answers(each, choice, problem, knowledge);
  });
  if (found == newest_first.end()) return nullptr;
  entries_.splice(entries_.end(), entries_, std::prev(found.base()));
  return &entries_.back();
}

/// Other arrivals may give a plan that is there already: its program need not be built again.
const CachedPlan& PlanCache::get(const Choice& choice, const Problem& problem,
                                 const Knowledge& knowledge) {
  if (const CachedPlan* const found = find(choice, problem, knowledge)) return *found;
  Plan plan = make_plan(*choice.algorithm, problem, choice.parameters, knowledge);
  ++made_;
  CachedPlan made{.asked = choice, .problem = problem, .knowledge = knowledge, .plan = {}};
  if (!choice.algorithm->arrival_aware) made.knowledge.arrivals.clear();
  made.balanced = balanced_time(plan, knowledge.network, knowledge.placement);
  made.shares = shares_of_price(plan, knowledge.network, knowledge.placement);
  const auto equal =
      std::ranges::find_if(entries_, [&](const CachedPlan& each) { return *each.plan == plan; });
  made.plan = equal != entries_.end() ? equal->plan : std::make_shared<const Plan>(std::move(plan));
  bytes_ += bytes_of(made);
  for (; !entries_.empty() && bytes_ > kMaxBytes; entries_.pop_front())
    bytes_ -= bytes_of(entries_.front());
  entries_.push_back(std::move(made));
  return entries_.back();
}

void PlanCache::clear() {
  entries_.clear();
  bytes_ = 0;
}

}  // namespace latecomer
