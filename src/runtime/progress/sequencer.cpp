#include "runtime/progress/sequencer.hpp"

#include <algorithm>

namespace latecomer {

void Sequencer::note_report(Rank from, const PlanMessage& report) {
  reports_[static_cast<std::size_t>(from)] = {report.call, report.arrival, report.weight};
}

std::optional<CallSignature> Sequencer::requested(std::uint64_t call) const {
  const auto found = requested_.find(call);
  return found == requested_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Seconds> Sequencer::blend(std::uint64_t call, std::vector<Seconds> forecast,
                                      Seconds now) const {
  const auto current = [call](const Report& report) { return report.call == call; };
  if (std::none_of(reports_.begin(), reports_.end(), current)) return forecast;
  const bool has_forecast = !forecast.empty();
  forecast.resize(reports_.size());
  for (std::size_t rank = 0; rank < reports_.size(); ++rank) {
    const Report& report = reports_[rank];
    if (!current(report)) continue;
    const double weight = has_forecast ? report.weight : 1;
    const Seconds reported = std::max(report.arrival - now, 0.0);
    forecast[rank] = weight * reported + (1 - weight) * forecast[rank];
  }
  const Seconds earliest = *std::min_element(forecast.begin(), forecast.end());
  for (Seconds& arrival : forecast) arrival -= earliest;
  return forecast;
}

}  // namespace latecomer
