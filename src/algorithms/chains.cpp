#include "algorithms/chains.hpp"

#include <algorithm>

#include "algorithms/reduce/tree_fold.hpp"
#include "base/partition.hpp"

namespace latecomer {
namespace {

/// The number of segments that are not empty, or one.
Count segments_of(const Plan& plan) {
  return std::min(plan.parameters.at("segments"), std::max<Count>(1, plan.problem.count));
}

Count longest_segment(const Plan& plan) {
  return Partition(plan.problem.count, plan.parameters.at("segments")).longest();
}

/// The times of one hop of a segment.
struct Stage {
  Stage(const Plan& plan, const Network& network) : segments(segments_of(plan)) {
    const Count bytes = longest_segment(plan) * plan.problem.element_bytes;
    pass = network.transfer(bytes);
    fold = network.combining(bytes);
    waits = bytes > network.eager_limit;
  }
  [[nodiscard]] Seconds all(Seconds each) const { return static_cast<double>(segments) * each; }

  Count segments;
  Seconds pass;  // over a link
  Seconds fold;  // into the next rank's segment
  bool waits;    // until its receiver has arrived
};

std::vector<Seconds> by_position(const Plan& plan, const std::vector<Seconds>& arrivals) {
  std::vector<Seconds> sorted;
  for (const Rank rank : plan.order) sorted.push_back(arrivals[rank]);
  return sorted;
}

/// The time at which the first partial segment leaves each position but the last. Every rank passes
/// on one segment each `pass`, so one time describes a position: the later of this rank's arrival
/// and that of the segment from the position before. `arrivals`: by position.
std::vector<Seconds> first_partials(const std::vector<Seconds>& arrivals, const Stage& stage) {
  std::vector<Seconds> leaves;
  for (std::size_t i = 0; i + 1 < arrivals.size(); ++i) {
    Seconds at = arrivals[i];
    if (i > 0) at = std::max(at, leaves.back() + stage.pass) + stage.fold;
    if (stage.waits) at = std::max(at, arrivals[i + 1]);
    leaves.push_back(at);
  }
  return leaves;
}

}  // namespace
}  // namespace latecomer

namespace latecomer::allreduce {
namespace {

/// One rank's place on the chain.
struct Place {
  Place(const Plan& plan, Rank me)
      : ranks(plan.problem.ranks),
        segments(plan.parameters.at("segments")),
        way(static_cast<Override>(plan.parameters.at("override"))),
        parts(plan.problem.count, segments) {
    at = position_of(plan, me);
  }

  [[nodiscard]] bool head() const { return at == 0; }
  [[nodiscard]] bool tail() const { return at == ranks - 1; }
  /// The position that sends the result to this one. The tail has none.
  [[nodiscard]] Rank giver() const {
    if (way == Override::back) return at + 1;
    return head() ? ranks - 1 : at - 1;
  }
  /// The position to which this one sends the result; -1: none.
  [[nodiscard]] Rank taker() const {
    if (way == Override::back) return at - 1;
    if (tail()) return 0;
    return at + 1 == ranks - 1 ? -1 : at + 1;
  }

  Rank at = 0;
  Rank ranks;
  Count segments;
  Override way;
  Partition parts;
};

/// Reduces segment `s` up to this rank and sends it on; at the tail it is the result then.
void reduce_segment(const Plan& plan, const Place& place, Count s, Builder& builder) {
  const Range range = place.parts.range(s);
  Slice partial = builder.input(range);
  if (!place.head()) {
    const Rank previous = plan.order[place.at - 1];
    partial = builder.receive_and_fold(previous, range, Received::left, place.tail());
  }
  if (!place.tail()) builder.send(plan.order[place.at + 1], partial);
}

void override_segment(const Plan& plan, const Place& place, Count s, Builder& builder) {
  const Slice result = builder.output(place.parts.range(s));
  if (!place.tail()) builder.recv(plan.order[place.giver()], result);
  if (place.taker() >= 0) builder.send(plan.order[place.taker()], result);
}

// The times at which the ranks of a chain with the override ring leave, from their arrivals
// (max-plus, one pass over the ranks): the result's way around starts at the tail and follows the
// partial segments over each link.

/// The exits of all positions, the tail's first; `arrivals` by position.
std::vector<Seconds> exits(const std::vector<Seconds>& arrivals, const Stage& stage) {
  const std::vector<Seconds> partials = first_partials(arrivals, stage);
  const Seconds tail = std::max(arrivals.back(), partials.back() + stage.pass) + stage.fold;
  const Seconds passing = stage.all(stage.pass);
  std::vector<Seconds> all = {tail + passing};
  Seconds result = tail + stage.pass;  // the first segment of it at position 0
  for (std::size_t i = 0; i < partials.size(); ++i) {
    // Position i sends the result on when it has sent on all its partial segments.
    const bool last = i + 1 == partials.size();
    const Seconds handed = std::max(result, partials[i] + passing);
    all.push_back(last ? result - stage.pass + passing : handed + passing);
    result = handed + stage.pass;
  }
  return all;
}

}  // namespace

std::vector<Parameter> chain_parameters() {
  return {segments_parameter(kEagerSegments),
          {"override", "which way the result goes; default ring", 0, {"ring", "back"}}};
}

void build_chain(const Plan& plan, Builder& builder) {
  const Place place(plan, builder.me());
  // The tail sends a segment back as soon as it is complete; the others reduce all segments first,
  // so that partial results, which the tail waits for, go before final ones.
  for (Count s = 0; s < place.segments; ++s) {
    reduce_segment(plan, place, s, builder);
    if (place.tail()) override_segment(plan, place, s, builder);
  }
  if (place.tail()) return;
  builder.piggyback_again();  // results take the way of partial ones, and carry the arrivals of all
  for (Count s = 0; s < place.segments; ++s) override_segment(plan, place, s, builder);
}

Cost chain_cost(const Plan& plan) {
  const Count ranks = plan.problem.ranks;
  const Count segments = segments_of(plan);
  const bool back = plan.parameters.at("override") == static_cast<Count>(Override::back);
  Count rounds = std::max(segments, ranks) + segments + ranks - 3;
  if (back) rounds = 2 * (segments + ranks - 2);  // an upper bound: one loop after the other
  if (ranks == 2) rounds = segments + 1;
  const Count longest = longest_segment(plan);
  return {rounds, rounds * longest, (ranks - 1) * longest};
}

Seconds chain_mean_after_last(const Plan& plan, const Network& network,
                              const std::vector<Seconds>& arrivals) {
  if (plan.problem.ranks == 1) return 0;
  if (plan.parameters.at("override") != static_cast<Count>(Override::ring)) {
    return hockney_time(plan.problem, chain_cost(plan), network);
  }
  return mean_exit_after_last(exits(by_position(plan, arrivals), Stage(plan, network)), arrivals);
}

}  // namespace latecomer::allreduce

namespace latecomer::reduce {
namespace {

/// The numbers of ranks before and behind the root.
struct Sides {
  explicit Sides(const Plan& plan)
      : before(position_of(plan, plan.problem.root)), behind(plan.problem.ranks - 1 - before) {}

  [[nodiscard]] Count shorter() const { return std::min(before, behind); }
  [[nodiscard]] Count longer() const { return std::max(before, behind); }

  Rank before;
  Rank behind;
};

/// One rank's segments; on their way they are folded one by one.
class Line {
 public:
  Line(const Plan& plan, Builder& builder)
      : plan_(plan),
        at_(position_of(plan, builder.me())),
        sides_(plan),
        segments_(plan.parameters.at("segments")) {
    const Partition parts(plan.problem.count, segments_);
    for (Count s = 0; s < segments_; ++s) {
      folds_.emplace_back(builder, parts.range(s), at_ == sides_.before);
      folds_.back().own();
    }
  }

  void run() {
    if (at_ == sides_.before) return end();
    for (Count s = 0; s < segments_; ++s) {
      if (at_ < sides_.before) pass(s, at_ - 1, Received::left, at_ + 1);
      if (at_ > sides_.before) pass(s, at_ + 1, Received::right, at_ - 1);
    }
  }

 private:
  void pass(Count s, Rank from, Received side, Rank to) {
    TreeFold& fold = folds_[static_cast<std::size_t>(s)];
    const bool first = from < 0 || from == plan_.problem.ranks;
    if (!first) fold.receive(plan_.order[from], side, true);
    fold.send(plan_.order[to]);
  }

  /// The root receives segments in the order of the earliest times at which they can be there.
  void end() {
    Count left = 0;
    Count right = 0;
    while (left < all(sides_.before) || right < all(sides_.behind)) {
      const bool none = right == all(sides_.behind);
      const bool earlier =
          left < all(sides_.before) && sides_.before + left <= sides_.behind + right;
      if (none || earlier) {
        receive(left, at_ - 1, Received::left, left < right || sides_.behind == 0);
        ++left;
      } else {
        receive(right, at_ + 1, Received::right, right < left || sides_.before == 0);
        ++right;
      }
    }
    for (TreeFold& fold : folds_) fold.finish();
  }
  void receive(Count s, Rank from, Received side, bool last) {
    folds_[static_cast<std::size_t>(s)].receive(plan_.order[from], side, last);
  }
  /// The number of segments that a side with so many ranks sends.
  [[nodiscard]] Count all(Rank ranks) const { return ranks > 0 ? segments_ : 0; }

  const Plan& plan_;
  Rank at_;
  Sides sides_;
  Count segments_;
  std::vector<TreeFold> folds_;
};

}  // namespace

void build_chain(const Plan& plan, Builder& builder) { Line(plan, builder).run(); }

Cost chain_cost(const Plan& plan) {
  const Sides sides(plan);
  const Count segments = segments_of(plan);
  const Count longest = longest_segment(plan);
  const auto way = [&](Count ranks, Count taken) {
    const Count rounds = ranks - 1 + taken;
    return Cost{rounds, rounds * longest, ranks * longest};
  };
  const Cost farther = way(sides.longer(), segments);
  if (sides.shorter() == 0) return farther;
  // Two messages a segment enter the root as soon as the nearer end's first segment is there.
  const Cost nearer = way(sides.shorter(), 2 * segments);
  return nearer.rounds > farther.rounds ? nearer : farther;
}

Seconds chain_mean_after_last(const Plan& plan, const Network& network,
                              const std::vector<Seconds>& arrivals) {
  if (plan.problem.ranks == 1) return 0;
  const Stage stage(plan, network);
  const Seconds passing = stage.all(stage.pass);
  const std::vector<Seconds> sorted = by_position(plan, arrivals);
  const std::vector<Seconds> partials = first_partials(sorted, stage);
  std::vector<Seconds> exits;
  for (const Seconds leaves : partials) exits.push_back(leaves + passing);
  const Seconds first = std::max(sorted.back(), partials.back() + stage.pass);
  exits.push_back(std::max(first + stage.all(stage.fold), partials.back() + passing + stage.fold));
  return mean_exit_after_last(exits, arrivals);
}

}  // namespace latecomer::reduce

namespace latecomer::bcast {
void fill_chain(Plan& plan, const Network& network, const std::vector<Seconds>& arrivals) {
  fill_eager_segments(plan, network, [&](const Plan& tried) {
    return arrivals.empty() ? hockney_time(plan.problem, chain_cost(tried), network)
                            : chain_mean_after_last(tried, network, arrivals);
  });
}

Cost chain_cost(const Plan& plan) {
  const Count sent = std::min(plan.parameters.at("segments"), plan.problem.count);
  const Count rounds = sent + plan.problem.ranks - 2;
  return {rounds, rounds * longest_segment(plan)};
}

/// Every link passes a segment each c = alpha + m/S beta, so one time describes a rank: when its
/// first segment leaves. That is not before the segment and the rank have arrived (its thread need
/// not wait for the rank), nor, if the segment waits for its receiver, before the receiver has
/// arrived.
Seconds chain_mean_after_last(const Plan& plan, const Network& network,
                              const std::vector<Seconds>& arrivals) {
  if (plan.problem.ranks == 1 || plan.problem.count == 0) return 0;
  const Stage stage(plan, network);
  const Seconds all = stage.all(stage.pass);
  const bool early = plan.progress == Progress::background;
  const bool waits = stage.waits && !early;
  Seconds leaves = arrivals[plan.order.front()];
  std::vector<Seconds> exits;
  for (std::size_t i = 0; i + 1 < plan.order.size(); ++i) {
    const Seconds here = arrivals[plan.order[i]];
    const Seconds next = arrivals[plan.order[i + 1]];
    if (!early) leaves = std::max(leaves, here);
    if (waits) leaves = std::max(leaves, next);
    exits.push_back(std::max(here, leaves + all));
    leaves += stage.pass;
  }
  // The last rank has all segments when the one before it has forwarded them.
  exits.push_back(std::max(arrivals[plan.order.back()], leaves - stage.pass + all));
  return mean_exit_after_last(exits, arrivals);
}

}  // namespace latecomer::bcast
