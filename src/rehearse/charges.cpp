#include "rehearse/charges.hpp"

#include <string_view>

namespace latecomer {
namespace {

using Counts = std::map<std::string_view, std::uint64_t>;

Seconds sum(const Charges::ByRow& seconds, const Counts& before, const Counts& now) {
  Seconds all = 0;
  for (const auto& [row, count] : now) {
    const auto known = before.find(row);
    const auto fresh = count - (known == before.end() ? 0 : known->second);
    const auto named = seconds.of.find(row);
    all += static_cast<double>(fresh) * (named == seconds.of.end() ? seconds.other : named->second);
  }
  return all;
}

}  // namespace

Seconds Charges::of(const PlanningDone& before, const PlanningDone& now) const {
  return sum(plan, before.plans, now.plans) + sum(price, before.prices, now.prices);
}

}  // namespace latecomer
