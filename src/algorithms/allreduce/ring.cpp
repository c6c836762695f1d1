// Ring: each rank owns one block; P-1 rounds reduce the blocks around the ring, P-1 pass them on.
//
// Cost: 2(P-1) alpha + 2(P-1)/P m beta + (P-1)/P m gamma. The bytes are the least any all-reduce
// needs when all ranks arrive together; use it for long vectors and balanced arrivals.
// Source: Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations,
// J. Parallel Distrib. Comput. 69 (2009); "ring" of Proficz 2018.
#include "algorithms/allreduce/ring.hpp"

#include <algorithm>
#include <numeric>

#include "algorithms/plans.hpp"
#include "algorithms/row.hpp"
#include "base/partition.hpp"
#include "base/threads.hpp"

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
    me_ = position_of(plan, builder.me());
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

/// The walk takes about 4 P^2 steps; for more ranks it is priced as if no rank were late, which is
/// never less.
constexpr Rank kMostWalked = 256;

/// The times at which ranks leave, if they arrive at given times: the walk itself, with one number
/// for each transfer instead of a message.
class TimedWalk {
 public:
  TimedWalk(const Plan& plan, const Network& network, const std::vector<Seconds>& arrivals)
      : starts_(plan.table), ranks_(plan.problem.ranks) {
    for (const Rank rank : plan.order) arrivals_.push_back(arrivals[rank]);
    segments_ = std::accumulate(starts_.begin(), starts_.end(), Count{0});
    const Count bytes =
        Partition(plan.problem.count, segments_).longest() * plan.problem.element_bytes;
    pass_ = network.transfer(bytes);
    fold_ = network.combining(bytes);
    waits_ = bytes > network.eager_limit;
  }

  /// The exits, by position.
  std::vector<Seconds> operator()() {
    sent_.assign(arrivals_.size(), {});
    const Rank first = somebody_who_starts();
    for (Count k = 0; k < 2 * segments_; ++k) {
      interruption_point();
      for (Rank i = 0; i < ranks_; ++i) send(wrap(first + i), k);
    }
    std::vector<Seconds> exits;
    for (Rank i = 0; i < ranks_; ++i) exits.push_back(std::max(last(i), last(wrap(i - 1))));
    return exits;
  }

 private:
  [[nodiscard]] Rank wrap(Rank position) const { return (position + ranks_) % ranks_; }
  [[nodiscard]] Count n(Rank position) const { return starts_[wrap(position)]; }
  [[nodiscard]] Seconds last(Rank position) const {
    return sent_[position].empty() ? arrivals_[position] : sent_[position].back();
  }
  /// A position at which segments start; any other waits for the one before it in the same round.
  [[nodiscard]] Rank somebody_who_starts() const {
    const auto at = std::find_if(starts_.begin(), starts_.end(), [](Count c) { return c > 0; });
    return static_cast<Rank>(at - starts_.begin());
  }

  /// The k-th transfer from a position to the next one.
  void send(Rank me, Count k) {
    if (k >= 2 * segments_ - n(me + 1) - n(me + 2)) return;
    Seconds begin = last(me);
    const Count received = k - n(me);
    if (received >= 0) {
      const Seconds came = std::max(sent_[wrap(me - 1)][received], arrivals_[me]);
      const bool partial = received < segments_ - n(me);
      begin = std::max(begin, came + (partial ? fold_ : 0));
    }
    if (waits_) begin = std::max(begin, arrivals_[wrap(me + 1)]);
    sent_[me].push_back(begin + pass_);
  }

  const std::vector<Count>& starts_;
  Rank ranks_;
  Count segments_ = 0;
  Seconds pass_ = 0;
  Seconds fold_ = 0;
  bool waits_ = false;
  std::vector<Seconds> arrivals_;           // by position
  std::vector<std::vector<Seconds>> sent_;  // when each transfer from a position was over
};

void fill_plan(Plan& plan, const Knowledge& /*knowledge*/) {
  plan.order = order_by_arrival(plan.problem.ranks, {});
  plan.table = even_starts(plan.problem.ranks, plan.problem.ranks);
}

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
  for (Rank i = 0; i < ranks; ++i) {
    const Count next = plan.table[(i + 1) % ranks];
    sends = std::max(sends, 2 * segments - next - plan.table[(i + 2) % ranks]);
  }
  // The busiest link; with few segments the path of one of them.
  const Count rounds = std::max(sends, Count{2} * (ranks - 1));
  // With several segments to a rank, combining one overlaps with moving the next.
  const Count exposed = segments > ranks ? 1 : ranks - 1;
  return {rounds, rounds * longest, exposed * longest};
}

std::vector<Count> even_starts(Rank ranks, Count segments) {
  const Partition parts(segments, ranks);
  std::vector<Count> starts;
  for (Rank b = 0; b < ranks; ++b) starts.push_back(parts.range(b).count);
  return starts;
}

Seconds ring_walk_mean_after_last(const Plan& plan, const Network& network,
                                  const std::vector<Seconds>& arrivals) {
  if (plan.problem.ranks > kMostWalked) {
    return hockney_time(plan.problem, ring_walk_cost(plan), network);
  }
  return mean_exit_after_last(TimedWalk(plan, network, arrivals)(), arrivals);
}

LATECOMER_ROW(allreduce, ring) {
  return {.commutative_only = true,
          .cost_formula = "2(P-1) alpha + 2(P-1)/P m beta + (P-1)/P m gamma",
          .source = "Patarasuk and Yuan 2009",
          .fill_plan = fill_plan,
          .build = build_ring_walk,
          .check = check_ring_walk,
          .cost = ring_walk_cost};
}

}  // namespace latecomer::allreduce
