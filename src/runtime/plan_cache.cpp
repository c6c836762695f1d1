#include "runtime/plan_cache.hpp"

#include <algorithm>

namespace latecomer {

const Prepared& PlanCache::get(const Choice& choice, const Problem& problem,
                               const Knowledge& knowledge, Rank me) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = *entries_[i];
    if (entry.version == version_ && entry.asked == problem) return use(i);
  }
  Plan plan = make_plan(*choice.algorithm, problem, choice.parameters, knowledge);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i]->prepared.plan != plan) continue;
    entries_[i]->version = version_;
    entries_[i]->asked = problem;
    return use(i);
  }
  add(problem, std::move(plan), me);
  return entries_.back()->prepared;
}

const Prepared& PlanCache::use(std::size_t index) {
  const auto entry = entries_.begin() + static_cast<std::ptrdiff_t>(index);
  std::rotate(entry, entry + 1, entries_.end());
  return entries_.back()->prepared;
}

void PlanCache::add(const Problem& asked, Plan plan, Rank me) {
  Program program = build_program(plan, me);
  ++built_;
  if (entries_.size() == kEntries) entries_.erase(entries_.begin());
  entries_.push_back(
      std::make_unique<Entry>(Entry{version_, asked, {std::move(plan), std::move(program)}}));
}

}  // namespace latecomer
