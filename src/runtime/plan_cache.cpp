#include "runtime/plan_cache.hpp"

#include <algorithm>

namespace latecomer {

bool PlanCache::Entry::answers(const Choice& question, const Problem& problem,
                               const Knowledge& knowledge) const {
  if (!(choice == question) || asked != problem) return false;
  return !choice.algorithm->arrival_aware ||
         (arrivals == knowledge.arrivals && background == knowledge.background);
}

const Prepared& PlanCache::get(const Choice& choice, const Problem& problem,
                               const Knowledge& knowledge, Rank me) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = *entries_[i];
    if (entry.version == version_ && entry.answers(choice, problem, knowledge)) {
      return use(i).prepared;
    }
  }
  Plan plan = make_plan(*choice.algorithm, problem, choice.parameters, knowledge);
  ++made_;
  const Count eager = knowledge.network.eager_elements(problem.element_bytes);
  Entry& entry = find_or_add(std::move(plan), me, eager);
  entry.version = version_;
  entry.choice = choice;
  entry.asked = problem;
  entry.arrivals = knowledge.arrivals;
  entry.background = knowledge.background;
  entry.prepared.parameters = describe_parameters(entry.prepared.plan, choice.algorithm->name);
  return entry.prepared;
}

const Prepared& PlanCache::adopt(Plan plan, Rank me, Count eager, const Choice& choice) {
  Entry& entry = find_or_add(std::move(plan), me, eager);
  entry.prepared.parameters = describe_parameters(entry.prepared.plan, choice.algorithm->name);
  return entry.prepared;
}

const Prepared& PlanCache::telling(const Problem& problem, Rank me) {
  return find_or_add(telling_plan(problem), me, 0).prepared;
}

PlanCache::Entry& PlanCache::use(std::size_t index) {
  const auto entry = entries_.begin() + static_cast<std::ptrdiff_t>(index);
  std::rotate(entry, entry + 1, entries_.end());
  return *entries_.back();
}

PlanCache::Entry& PlanCache::find_or_add(Plan plan, Rank me, Count eager) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Prepared& prepared = entries_[i]->prepared;
    if (prepared.plan == plan && prepared.eager == eager) return use(i);
  }
  auto made = std::make_unique<Entry>(std::move(plan), me, eager);
  ++built_;
  if (entries_.size() == kEntries) entries_.erase(entries_.begin());
  entries_.push_back(std::move(made));
  return *entries_.back();
}

}  // namespace latecomer
