#include "algorithms/allreduce/generalized/designs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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

namespace {

constexpr double kTie = 1e-9;  // the most by which rounding makes equal times differ

Level whole(Count order) {
  const Count steps = fewest_steps(order, 1);
  return {order, order, steps, 0};
}

/// A level whose distribution has `removed` steps less.
Level halving(Count order, Count removed) {
  const Count steps = fewest_steps(order, 1);
  Count kept = order;
  for (Count i = removed; i < steps; ++i) kept = (kept + 1) / 2;
  return {order, kept, steps, steps - removed};
}

/// A level with more steps than the fewest, which keeps no part twice.
Level slower(Count order, Count steps) { return {order, 1, (steps + 1) / 2, steps / 2}; }

/// Levels before the `pivot` scatter, and those after it keep everything: the levels that replicate
/// work have the shortest vectors.
Design with_pivot(const Factors& group, std::size_t pivot, const Level& level) {
  Design design;
  for (std::size_t i = 0; i < group.size(); ++i) {
    design.levels.push_back(i < pivot ? halving(group[i], 0) : i > pivot ? whole(group[i]) : level);
  }
  return design;
}

void add_halving(const Factors& group, std::vector<Design>& designs) {
  for (std::size_t pivot = 0; pivot < group.size(); ++pivot) {
    for (Count removed = 0; removed <= fewest_steps(group[pivot], 1); ++removed) {
      designs.push_back(with_pivot(group, pivot, halving(group[pivot], removed)));
    }
  }
}

/// Adds designs with more steps and shorter messages in the first level.
void add_slower(const Factors& group, std::optional<Count> wanted, std::vector<Design>& designs) {
  const Count order = group.front();
  Design design = with_pivot(group, group.size() - 1, halving(group.back(), 0));
  const Count others = steps_of(design) - 2 * fewest_steps(order, 1);
  const auto add = [&](Count steps) {
    design.levels.front() = slower(order, steps);
    designs.push_back(design);
  };
  const Count fewest = 2 * fewest_steps(order, 1);
  if (wanted && *wanted - others > fewest) add(std::min(*wanted - others, 2 * (order - 1)));
  if (wanted) return;
  for (Count most = 1; most < order / 2; most *= 2) add(2 * detail::steps_with(order, 1, most));
}

std::vector<Design> designs_for(const Wishes& wishes) {
  std::vector<Design> designs;
  for (const Factors& group : wishes.groups) {
    add_halving(group, designs);
    add_slower(group, wishes.steps, designs);
  }
  if (!wishes.any_rounding) {
    std::erase_if(designs, [](const Design& design) {
      return !std::all_of(design.levels.begin(), design.levels.end(), one_tree);
    });
  }
  return designs;
}

void keep_nearest(Count steps, std::vector<Design>& designs) {
  const auto distance = [&](const Design& design) { return std::abs(steps_of(design) - steps); };
  Count least = distance(designs.front());
  for (const Design& design : designs) least = std::min(least, distance(design));
  std::erase_if(designs, [&](const Design& design) { return distance(design) > least; });
}

Count sent_in(const std::vector<Work>& steps) {
  Count sent = 0;
  for (const Work& work : steps) sent += work.sent;
  return sent;
}

/// The piece that balances the start-ups of more messages with the combining after the last one.
Count best_piece(const std::vector<Work>& steps, const Problem& problem, const Network& network) {
  double volume = 0;
  double reducing = 0;
  for (const Work& work : steps) {
    if (work.combined == 0) continue;
    volume += static_cast<double>(work.sent);
    ++reducing;
  }
  const double combining = reducing * network.gamma * static_cast<double>(problem.element_bytes);
  if (combining <= 0 || network.alpha <= 0) return 0;
  return std::max<Count>(1, std::llround(std::sqrt(volume * network.alpha / combining)));
}

/// The message lengths that are worth trying.
std::vector<Pieces> pieces_for(const std::vector<Work>& steps, const Wishes& wishes,
                               const Problem& problem, const Network& network) {
  const Count least = least_piece(problem);
  const auto usable = [&](Count piece) { return piece == 0 ? 0 : std::max(piece, least); };
  if (wishes.piece) return {{usable(*wishes.piece), usable(*wishes.piece)}};
  const Count best = usable(best_piece(steps, problem, network));
  std::vector<Pieces> all = {{0, 0}, {best, 0}};
  if (network.eager_limit > 0) {
    const Count eager = usable(std::max<Count>(1, network.eager_limit / 2 / problem.element_bytes));
    all.push_back({best == 0 ? eager : std::min(best, eager), eager});
  }
  return all;
}

}  // namespace

Factors prime_factors(Rank ranks) {
  Factors factors;
  Count rest = ranks;
  for (Count factor = 2; factor * factor <= rest; ++factor) {
    for (; rest % factor == 0; rest /= factor) factors.push_back(factor);
  }
  if (rest > 1) factors.push_back(rest);
  std::reverse(factors.begin(), factors.end());
  return factors;
}

std::vector<Factors> useful_groups(Rank ranks) {
  std::vector<Factors> groups = {{ranks}};
  const Factors primes = prime_factors(ranks);
  for (std::size_t split = primes.size(); split-- > 1;) {
    Count first = 1;
    for (std::size_t i = 0; i < split; ++i) first *= primes[i];
    Factors group = {first};
    group.insert(group.end(), primes.begin() + static_cast<std::ptrdiff_t>(split), primes.end());
    groups.push_back(group);
  }
  return groups;
}

Design cheapest(const Wishes& wishes, const Problem& problem, const Network& network) {
  auto designs = designs_for(wishes);
  if (wishes.steps) keep_nearest(*wishes.steps, designs);
  Design best;
  Seconds least = 0;
  for (Design& design : designs) {
    const std::vector<Work> steps = work_of(design, problem.count);
    const Seconds saved = network.saved(sent_in(steps) * problem.element_bytes);
    Seconds shortest = std::numeric_limits<Seconds>::infinity();
    for (const Pieces& pieces : pieces_for(steps, wishes, problem, network)) {
      const Seconds time = time_of(steps, pieces, problem, network) - saved;
      if (time >= shortest) continue;
      shortest = time;
      design.reduce_piece = pieces.reduce;
      design.distribute_piece = pieces.distribute;
    }
    // The groups have more and more factors. Of equally fast ones, the later exchange in pairs,
    // whose blocks need no copies.
    if (!best.levels.empty() && shortest > least * (1 + kTie)) continue;
    least = shortest;
    best = std::move(design);
  }
  return best;
}

}  // namespace latecomer::allreduce
