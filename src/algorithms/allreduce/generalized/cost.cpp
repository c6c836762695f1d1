#include "algorithms/allreduce/generalized/cost.hpp"

#include <algorithm>

#include "patterns/spread.hpp"

namespace latecomer::allreduce {
namespace {

/// Counts the parts that the steps of one level's reduction combine.
class Combining {
 public:
  Combining(const Level& level, std::vector<Step> steps)
      : level_(level), steps_(std::move(steps)) {}

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  /// Parts sent in step i.
  [[nodiscard]] Count sent(std::size_t i) const {
    return std::min(level_.order, steps_[i].moved() + level_.kept - 1);
  }
  /// Parts combined in step i; must be called in the order of the steps.
  [[nodiscard]] Count combined(std::size_t i) {
    const bool odd = steps_[i].size % 2 == 1;
    if (level_.kept == 1 || odd || !apart_) {
      apart_ = apart_ || odd;
      return sent(i);
    }
    const bool last = i + 1 == steps_.size();
    const Count others = sent(i) == level_.order ? level_.order : sent(i) - 1;
    return level_.kept + (last ? 0 : others);
  }
  /// Parts combined in step i that the next step sends on.
  [[nodiscard]] Count urgent(std::size_t i, Distance distance) const {
    if (i + 1 == steps_.size()) return level_.kept;
    if (level_.kept > 1) return std::min(sent(i), sent(i + 1));
    // Far: some parts of the next step are ready early and may go first, so nothing is hidden.
    if (distance == Distance::far) return sent(i);
    const Step& step = steps_[i];
    const Count begin = std::max(step.smaller - step.moved(), steps_[i + 1].smaller);
    return step.smaller - begin;
  }

 private:
  const Level& level_;
  std::vector<Step> steps_;
  bool apart_ = false;  // the results are a step behind the other partial results
};

void add_reduction(const Level& level, Count count, Distance distance, std::vector<Work>& work) {
  const Spread parts(count, level.order);
  Combining combining(level, reduce_steps(level));
  for (std::size_t i = 0; i < combining.steps().size(); ++i) {
    const bool exchange = 2 * combining.steps()[i].shift(distance) == level.order;
    const Count combined = combining.combined(i);
    // More than all parts: the results are combined apart from the other partial results.
    const Count twice = std::max<Count>(0, combined - level.order);
    work.push_back({parts.longest(combining.sent(i)), parts.longest(combining.urgent(i, distance)),
                    parts.longest(combined - twice) + parts.longest(twice), exchange});
  }
}

void add_distribution(const Level& level, Count count, Distance distance, std::vector<Work>& work) {
  const Spread parts(count, level.order);
  for (const Step& step : distribute_steps(level)) {
    const bool exchange = 2 * step.shift(distance) == level.order;
    work.push_back({parts.longest(step.moved()), 0, 0, exchange});
  }
}

Count messages(Count sent, Count piece) {
  if (sent == 0) return 0;
  return piece == 0 ? 1 : (sent + piece - 1) / piece;
}

/// The time of all messages of a step; the handshakes of all but the first overlap with the
/// transfers.
Seconds transfer(const Work& work, Count piece, const Problem& problem, const Network& network) {
  const Count parts = messages(work.sent, piece);
  const Count bytes = (piece == 0 ? work.sent : std::min(piece, work.sent)) * problem.element_bytes;
  const Seconds first = work.exchange ? network.exchanging(bytes) : network.transfer(bytes);
  const bool slower = work.exchange && bytes > network.eager_limit;
  const Seconds others =
      static_cast<double>(parts - 1) * network.alpha +
      network.beta * static_cast<double>(work.sent * problem.element_bytes - bytes);
  return first + (slower ? network.exchange : 1) * others;
}

}  // namespace

std::vector<Work> work_of(const Design& design, Count count) {
  std::vector<Work> work;
  std::vector<Count> counts = {count};
  for (const Level& level : design.levels) {
    add_reduction(level, counts.back(), design.distance, work);
    counts.push_back(Spread(counts.back(), level.order).longest(level.kept));
  }
  for (std::size_t i = design.levels.size(); i-- > 0;) {
    add_distribution(design.levels[i], counts[i], design.distance, work);
  }
  return work;
}

Count steps_of(const Design& design) {
  Count steps = 0;
  for (const Level& level : design.levels) steps += level.reduce + level.distribute;
  return steps;
}

Seconds time_of(const std::vector<Work>& steps, const Pieces& pieces, const Problem& problem,
                const Network& network) {
  const double gamma = network.gamma * static_cast<double>(problem.element_bytes);
  Seconds time = 0;
  Seconds combining = 0;  // not hidden in the step before
  for (const Work& work : steps) {
    if (work.sent == 0) continue;
    const bool reduces = work.combined > 0;
    const Count piece = reduces ? pieces.reduce : pieces.distribute;
    time += std::max(transfer(work, piece, problem, network), combining);
    const Count last = piece == 0 ? work.urgent : std::min(piece, work.urgent);
    time += gamma * static_cast<double>(last);
    combining = gamma * static_cast<double>(piece == 0 ? work.combined - work.urgent : 0);
  }
  return time + combining;
}

Cost level_cost(const Plan& plan) {
  const Design design = from_table(plan.table, plan.problem.ranks);
  Cost cost;
  for (const Work& work : work_of(design, plan.problem.count)) {
    const Count piece = work.combined > 0 ? design.reduce_piece : design.distribute_piece;
    const Count shown = piece == 0 ? work.urgent : std::min(piece, work.urgent);
    cost = cost + Cost{messages(work.sent, piece), work.sent, shown, work.exchange ? work.sent : 0};
  }
  return cost;
}

}  // namespace latecomer::allreduce
