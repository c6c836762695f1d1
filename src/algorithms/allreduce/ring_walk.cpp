#include "algorithms/allreduce/ring_walk.hpp"

#include <algorithm>
#include <numeric>

#include "algorithms/plan_checks.hpp"
#include "base/partition.hpp"

namespace latecomer::allreduce {
namespace {

/// One position's view of the walk.
class Walk {
 public:
  Walk(const Plan& plan, Builder& builder)
      : builder_(builder),
        starts_(plan.table),
        ranks_(plan.problem.ranks),
        segments_(std::accumulate(starts_.begin(), starts_.end(), Count{0})),
        parts_(plan.problem.count, segments_) {
    const auto at = std::find(plan.order.begin(), plan.order.end(), builder.me());
    me_ = static_cast<Rank>(at - plan.order.begin());
    next_ = plan.order[wrap(me_ + 1)];
    previous_ = plan.order[wrap(me_ - 1)];
    first_ = std::accumulate(starts_.begin(), starts_.begin() + me_ + 1, Count{0}) - 1;
    partial_.resize(static_cast<std::size_t>(segments_));
  }

  /// Raw segments first; then each segment is sent on right after it was received.
  void build() {
    const Count raw = n(me_);
    const Count sends = 2 * segments_ - n(me_ + 1) - n(me_ + 2);
    const Count receives = 2 * segments_ - n(me_) - n(me_ + 1);
    for (Count k = 0; k < raw; ++k) send(k);
    for (Count k = 0; k < receives; ++k) {
      receive(k);
      if (k + raw < sends) send(k + raw);
    }
  }

 private:
  [[nodiscard]] Rank wrap(Rank position) const { return (position + ranks_) % ranks_; }
  [[nodiscard]] Count n(Rank position) const { return starts_[wrap(position)]; }
  [[nodiscard]] Count segment(Count step) const {
    return ((first_ - step) % segments_ + segments_) % segments_;
  }

  void send(Count step) {
    const Count s = segment(step);
    const bool final = step >= segments_ - n(me_ + 1);
    const bool raw = step < n(me_);
    const Range range = parts_.range(s);
    builder_.send(next_, final ? builder_.output(range)
                         : raw ? builder_.input(range)
                               : partial_[s]);
  }

  void receive(Count step) {
    const Count s = segment(step + n(me_));
    const Range range = parts_.range(s);
    const Count partials = segments_ - n(me_);  // the last n(me + 1) of them are complete here
    if (step >= partials) {
      builder_.recv(previous_, builder_.output(range));
    } else {
      const bool final = step >= partials - n(me_ + 1);
      partial_[s] = builder_.receive_and_fold(previous_, range, Received::left, final);
    }
  }

  Builder& builder_;
  const std::vector<Count>& starts_;
  Rank ranks_;
  Count segments_;
  Partition parts_;
  Rank me_ = 0;
  Rank next_ = 0;
  Rank previous_ = 0;
  Count first_ = 0;             // the segment that this position sends first
  std::vector<Slice> partial_;  // where the partial result of a segment lies
};

}  // namespace

void check_ring_walk(const Plan& plan) {
  const auto asked = plan.parameters.find("segments");
  const Count segments = asked == plan.parameters.end() ? plan.problem.ranks : asked->second;
  check_ordered_numbers(plan, 0, segments);
  if (std::accumulate(plan.table.begin(), plan.table.end(), Count{0}) != segments) {
    refuse_table(plan, "the " + std::to_string(segments) + " segments, by where they start");
  }
}

void build_ring_walk(const Plan& plan, Builder& builder) { Walk(plan, builder).build(); }

Cost ring_walk_cost(const Plan& plan) {
  const Rank ranks = plan.problem.ranks;
  const auto segments = std::accumulate(plan.table.begin(), plan.table.end(), Count{0});
  const Count longest = Partition(plan.problem.count, segments).longest();
  Count sends = 0;
  Count fewest_starts = segments;
  for (Rank i = 0; i < ranks; ++i) {
    const Count next = plan.table[(i + 1) % ranks];
    sends = std::max(sends, 2 * segments - next - plan.table[(i + 2) % ranks]);
    fewest_starts = std::min(fewest_starts, plan.table[i]);
  }
  // The busiest link, or with few segments the way of one of them.
  const Count rounds = std::max(sends, Count{2} * (ranks - 1));
  return {rounds, sends * longest, (segments - fewest_starts) * longest};
}

Seconds ring_walk_time(const Plan& plan, const Network& network) {
  const Rank ranks = plan.problem.ranks;
  if (ranks == 1) return 0;
  const Count segments = std::accumulate(plan.table.begin(), plan.table.end(), Count{0});
  const Count bytes =
      Partition(plan.problem.count, segments).longest() * plan.problem.element_bytes;
  // With several segments to a rank, combining one overlaps with moving the next.
  const Count exposed = segments > ranks ? 1 : ranks - 1;
  return static_cast<double>(ring_walk_cost(plan).rounds) * network.transfer(bytes) +
         static_cast<double>(exposed) * network.combining(bytes);
}

std::vector<Count> even_starts(Rank ranks, Count segments) {
  const Partition parts(segments, ranks);
  std::vector<Count> starts;
  for (Rank b = 0; b < ranks; ++b) starts.push_back(parts.range(b).count);
  return starts;
}

}  // namespace latecomer::allreduce
