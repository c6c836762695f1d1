#include "algorithms/allreduce/generalized/levels.hpp"

#include <string>

#include "algorithms/segments.hpp"
#include "base/error.hpp"

namespace latecomer::allreduce {
namespace {

constexpr std::size_t kHeader = 3;  // numbers of a table before its levels
constexpr std::size_t kPerLevel = 4;

std::vector<Step> steps_of(const std::vector<Count>& sizes) {
  std::vector<Step> steps;
  for (std::size_t i = 1; i < sizes.size(); ++i) steps.push_back({sizes[i - 1], sizes[i]});
  return steps;
}

bool sensible(const Level& level) {
  const auto possible = [](Count from, Count to, Count steps) {
    return steps >= fewest_steps(from, to) && steps <= from - to;
  };
  return level.order > 1 && level.kept >= 1 && level.kept <= level.order &&
         possible(level.order, 1, level.reduce) &&
         possible(level.order, level.kept, level.distribute) &&
         (level.kept == 1 || level.reduce == fewest_steps(level.order, 1));
}

}  // namespace

std::vector<Step> reduce_steps(const Level& level) {
  return steps_of(shrinking(level.order, 1, level.reduce));
}

std::vector<Step> distribute_steps(const Level& level) {
  auto steps = steps_of(shrinking(level.order, level.kept, level.distribute));
  std::reverse(steps.begin(), steps.end());
  return steps;
}

bool one_tree(const Level& level) {
  const bool power_of_two = (level.order & (level.order - 1)) == 0;
  return level.kept == 1 || (level.kept == level.order && power_of_two);
}

std::vector<Count> to_table(const Design& design) {
  std::vector<Count> table = {static_cast<Count>(design.distance), design.reduce_piece,
                              design.distribute_piece};
  for (const Level& level : design.levels) {
    table.insert(table.end(), {level.order, level.kept, level.reduce, level.distribute});
  }
  return table;
}

void check_levels(const Plan& plan) {
  if (!plan.order.empty()) throw Error("order", "one", "none, for " + plan.algorithm);
  const Design design = from_table(plan.table, plan.problem.ranks);
  for (const Count piece : {design.reduce_piece, design.distribute_piece}) {
    const Count least = least_piece(plan.problem);
    if (piece > 0 && piece < least) {
      throw Error("piece", std::to_string(piece), "at least " + std::to_string(least));
    }
  }
}

Count least_piece(const Problem& problem) {
  const Count most = max_segments(problem.count);
  return (problem.count + most - 1) / most;
}

Design from_table(const std::vector<Count>& table, Rank ranks) {
  const auto wrong = [&](const char* remedy) -> Error {
    return {"table", std::to_string(table.size()) + " numbers", remedy};
  };
  if (table.size() < kHeader || (table.size() - kHeader) % kPerLevel != 0 || table[0] < 0 ||
      table[0] > 1 || table[1] < 0 || table[2] < 0) {
    throw wrong("distance, pieces of both phases, and four numbers a level");
  }
  Design design{{}, static_cast<Distance>(table[0]), table[1], table[2]};
  Count product = 1;
  for (std::size_t i = kHeader; i < table.size(); i += kPerLevel) {
    const Level level{table[i], table[i + 1], table[i + 2], table[i + 3]};
    if (level.order > ranks / product || !sensible(level) ||
        (level.kept > 1 && design.distance == Distance::far))
      throw wrong("levels whose steps can be made");
    design.levels.push_back(level);
    product *= level.order;
  }
  if (product != ranks) throw wrong("levels whose orders multiply to the ranks");
  return design;
}

}  // namespace latecomer::allreduce
