#include "choose/plan_cache.hpp"

#include <bit>
#include <functional>
#include <utility>

#include "algorithms/plans.hpp"

namespace latecomer {
namespace {

std::uint64_t mix_key(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15U + (hash << 6) + (hash >> 2);
  return hash * 0x100000001b3U;
}

std::uint64_t key_of(const Choice& choice, const Problem& problem, const Knowledge& knowledge) {
  std::uint64_t key = reinterpret_cast<std::uintptr_t>(choice.algorithm);
  key = mix_key(key, static_cast<std::uint64_t>(problem.count));
  key = mix_key(key, static_cast<std::uint64_t>(problem.element_bytes));
  key = mix_key(key, static_cast<std::uint64_t>(problem.root));
  if (choice.algorithm->arrival_aware) {
    for (const Seconds arrival : knowledge.arrivals)
      key = mix_key(key, std::bit_cast<std::uint64_t>(arrival));
  }
  if (choice.algorithm->coordinated)
    key = mix_key(key, std::hash<std::vector<bool>>()(knowledge.mostly_late));
  return key;
}

bool answers(const CachedPlan& cached, const Choice& choice, const Problem& problem,
             const Knowledge& knowledge) {
  if (cached.problem != problem || cached.telemetry != knowledge.telemetry) return false;
  if (!(cached.network == knowledge.network)) return false;
  if (!(cached.asked == choice) || cached.nodes == knowledge.placement.empty()) return false;
  if (choice.algorithm->coordinated && cached.mostly_late != knowledge.mostly_late) return false;
  return !choice.algorithm->arrival_aware ||
         (cached.arrivals == knowledge.arrivals && cached.background == knowledge.background);
}

std::size_t bytes_of(const Plan& plan) {
  std::size_t bytes = sizeof(Plan) + plan.order.size() * sizeof(Rank) +
                      (plan.table.size() + plan.problem.parts.size()) * sizeof(Count) +
                      plan.placement.size() * sizeof(Rank);
  for (const Plan& inner : plan.inner) bytes += bytes_of(inner);
  return bytes;
}

/// The bytes of an entry, equal on all ranks. Programs are kept elsewhere.
std::size_t bytes_of(const CachedPlan& cached) {
  return sizeof(CachedPlan) + cached.arrivals.size() * sizeof(Seconds) +
         cached.mostly_late.size() / 8 + bytes_of(*cached.plan) +
         cached.problem.parts.size() * sizeof(Count);
}

}  // namespace

const CachedPlan* PlanCache::find(const Choice& choice, const Problem& problem,
                                  const Knowledge& knowledge) {
  const auto [first, last] = by_key_.equal_range(key_of(choice, problem, knowledge));
  for (auto each = first; each != last; ++each) {
    if (!answers(each->second->cached, choice, problem, knowledge)) continue;
    entries_.splice(entries_.end(), entries_, each->second);
    return &each->second->cached;
  }
  return nullptr;
}

const CachedPlan& PlanCache::get(const Choice& choice, const Problem& problem,
                                 const Knowledge& knowledge) {
  if (const CachedPlan* const found = find(choice, problem, knowledge)) return *found;
  Plan plan = make_plan(*choice.algorithm, problem, choice.parameters, knowledge);
  ++made_;
  CachedPlan cached{choice,
                    problem,
                    knowledge.network,
                    knowledge.arrivals,
                    knowledge.background,
                    choice.algorithm->coordinated ? knowledge.mostly_late : std::vector<bool>(),
                    knowledge.telemetry,
                    !knowledge.placement.empty(),
                    0,
                    {},
                    nullptr};
  cached.balanced = balanced_time(plan, knowledge.network, knowledge.placement);
  cached.shares = shares_of_price(plan, knowledge.network, knowledge.placement);
  cached.plan = shared(std::move(plan));
  const std::size_t bytes = bytes_of(cached);
  while (!entries_.empty() && bytes_ + bytes > kMaxBytes) drop_oldest();
  const std::uint64_t key = key_of(choice, problem, knowledge);
  entries_.push_back({key, bytes, std::move(cached)});
  by_key_.emplace(key, std::prev(entries_.end()));
  bytes_ += bytes;
  return entries_.back().cached;
}

/// Returns a cached equal plan if there is one, since other arrivals may give the same plan: its
/// program need not be built again.
std::shared_ptr<const Plan> PlanCache::shared(Plan plan) const {
  for (const Entry& entry : entries_) {
    if (*entry.cached.plan == plan) return entry.cached.plan;
  }
  return std::make_shared<const Plan>(std::move(plan));
}

void PlanCache::drop_oldest() {
  const auto oldest = entries_.begin();
  const auto [first, last] = by_key_.equal_range(oldest->key);
  for (auto each = first; each != last; ++each) {
    if (each->second != oldest) continue;
    by_key_.erase(each);
    break;
  }
  bytes_ -= oldest->bytes;
  entries_.pop_front();
}

void PlanCache::clear() {
  entries_.clear();
  by_key_.clear();
  bytes_ = 0;
}

}  // namespace latecomer
