#include "telemetry/mostly_late.hpp"

#include <algorithm>
#include <limits>

#include "forecast/pattern.hpp"

namespace latecomer {
namespace {

// evidence/results/regret.md has half and twice of each.
constexpr double kRenewal = 0.25;  // part of a mean that a call renews
constexpr double kLate = 0.5;      // of the largest mean: above it a rank becomes mostly late
constexpr double kStays = 0.25;    // of the largest mean: down to it the rank stays so
constexpr double kMost = 2;  // largest means that a call counts as, at most: not to hide others

}  // namespace

void MostlyLate::learn(const std::vector<Seconds>& lateness) {
  if (usual_.empty()) {
    usual_.resize(lateness.size());
    now_.resize(lateness.size());
    ranks_ = now_;
    groups_.reserve(lateness.size());
    return;
  }
  const Seconds before = extremes_of(usual_).max;
  const Seconds limit = before > 0 ? kMost * before : std::numeric_limits<Seconds>::infinity();
  for (std::size_t rank = 0; rank < usual_.size(); ++rank)
    usual_[rank] += kRenewal * (std::min(lateness[rank], limit) - usual_[rank]);
  const Seconds most = extremes_of(usual_).max;
  bool changed = false;
  for (std::size_t rank = 0; rank < usual_.size(); ++rank) {
    const bool late = usual_[rank] > most * (now_[rank] ? kStays : kLate);
    changed = changed || late != now_[rank];
    now_[rank] = late;
  }
  if (changed && moves_tasks()) ranks_ = now_;
}

/// The first rank of a group does its task that does not mostly come late, or else the first.
bool MostlyLate::moves_tasks() {
  const bool share = shares_nodes(placement_);
  groups_.assign(now_.size(), {});
  for (std::size_t rank = 0; rank < now_.size(); ++rank) {
    Group& group = groups_[share ? static_cast<std::size_t>(placement_[rank]) : 0];
    if (!group.known || (ranks_[group.on] && !ranks_[rank])) group.on = rank;
    group.known = true;
    group.relieved = group.relieved || !now_[rank];
  }
  return std::ranges::any_of(groups_,
                             [&](const Group& each) { return each.relieved && now_[each.on]; });
}

}  // namespace latecomer
