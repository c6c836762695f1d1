#include "graph/timing.hpp"

#include <algorithm>
#include <limits>

namespace latecomer {
namespace {

constexpr auto kCopies = static_cast<std::uint8_t>(Activity::node_copy);
constexpr auto kTold = static_cast<std::uint8_t>(Activity::join);  // a notice to the rank itself

}  // namespace

Timing::Timing(const Activities& all, const Service& service) {
  static_assert(static_cast<std::uint8_t>(Activity::accumulate) < kExchanges);
  std::vector<Node> place(all.size(), kNone);
  for (const Service::Served& served : service.served) {
    place[served.node] = static_cast<Node>(class_.size());
    auto of = static_cast<std::uint8_t>(all.kind[served.node]);
    const Activity kind = all.kind[served.node];
    if (kind == Activity::landing) of = static_cast<std::uint8_t>(all.kind[served.node - 1]);
    if (kind == Activity::notice && !served.notifies) of = kTold;
    if (kind == Activity::accumulate && served.copies) of = kCopies;
    class_.push_back(served.exchanges ? of + kExchanges : of);
    bytes_.push_back(served.bytes);
    waits_at_.push_back(static_cast<std::uint32_t>(waits_.size()));
    const auto wait = [&](Moment moment) { waits_.push_back(2 * place[moment / 2] + moment % 2); };
    for (const Moment moment : all.waits_of(served.node)) wait(moment);
    for (const Moment moment : served.after) {
      if (moment != kNone) wait(moment);
    }
  }
  waits_at_.push_back(static_cast<std::uint32_t>(waits_.size()));
  for (const Node node : all.arrivals) arrivals_.push_back(place[node]);
  for (const Node node : all.exits) exits_.push_back(place[node]);
  time_.resize(2 * class_.size());
  left_.resize(exits_.size());
}

const std::vector<Seconds>& Timing::evaluate(std::span<const Seconds> arrivals,
                                             const Network& network) {
  exchange_ = network.exchange;
  for (std::uint8_t i = 0; i < kExchanges; ++i) {
    costs_[i] = cost_of(static_cast<Activity>(i), network);
    costs_[kExchanges + i] = {network.exchange * costs_[i].startup,
                              network.exchange * costs_[i].per_byte};
  }
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
    bytes_[arrivals_[rank]] = arrivals[rank];
  }
  costs_[static_cast<std::size_t>(Activity::arrival)] = {0, 1};
  const std::size_t size = class_.size();
  for (std::size_t i = 0; i < size; ++i) {
    Seconds begin = 0;
    for (std::uint32_t k = waits_at_[i]; k < waits_at_[i + 1]; ++k) {
      begin = std::max(begin, time_[waits_[k]]);
    }
    const ActivityCost& cost = costs_[class_[i]];
    time_[2 * i] = begin;
    time_[2 * i + 1] = begin + cost.startup + cost.per_byte * bytes_[i];
  }
  for (std::size_t rank = 0; rank < exits_.size(); ++rank) {
    left_[rank] = exits_[rank] == kNone ? std::numeric_limits<Seconds>::infinity()
                                        : time_[begin_of(exits_[rank])];
  }
  return left_;
}

CriticalPath Timing::critical_path(Rank rank) const {
  CriticalPath path;
  Moment at = exits_[static_cast<std::size_t>(rank)];
  if (at == kNone) return path;
  at = end_of(at);
  for (;;) {
    const Node node = at / 2;
    if (at % 2 == 1) {
      const bool exchanges = class_[node] >= kExchanges;
      const auto kind = static_cast<Activity>(class_[node] % kExchanges);
      const ActivityCost& cost = costs_[class_[node]];
      if (kind == Activity::arrival) {
        for (std::size_t each = 0; each < arrivals_.size(); ++each) {
          if (arrivals_[each] == node) path.arrival = static_cast<Rank>(each);
        }
        return path;
      }
      if (kind == Activity::message) {
        const double times = exchanges ? exchange_ : 1;
        path.startups += times;
        path.bytes += times * bytes_[node];
      } else if (kind == Activity::combine) {
        path.combined += bytes_[node];
      } else {
        path.other += cost.startup + cost.per_byte * bytes_[node];
      }
    }
    Moment before = kNone;
    for (std::uint32_t k = waits_at_[node]; k < waits_at_[node + 1]; ++k) {
      if (before == kNone || time_[waits_[k]] > time_[before]) before = waits_[k];
    }
    if (before == kNone) return path;
    at = before;
  }
}

}  // namespace latecomer
