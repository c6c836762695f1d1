// The parts of a binomial tree's subtrees: runs of positions, which may wrap around the last rank.
#pragma once

#include <array>

#include "patterns/powers.hpp"
#include "patterns/rotated.hpp"
#include "schedule/problem.hpp"

namespace latecomer {

class Subtrees {
 public:
  explicit Subtrees(const Problem& problem)
      : problem_(problem), tree_(problem.ranks, problem.root) {}

  [[nodiscard]] const Rotated& tree() const { return tree_; }
  [[nodiscard]] TreeNode node(Rank position) const {
    return binomial_node(problem_.ranks, position);
  }
  /// The positions [first, last) below and at `position`.
  [[nodiscard]] Rank last(Rank position) const {
    const Rank size = position == 0 ? problem_.ranks : position & -position;
    return std::min<Rank>(position + size, problem_.ranks);
  }
  /// The elements of its ranks: one stretch of the vector, or two where it wraps around.
  [[nodiscard]] std::array<Range, 2> parts(Rank position) const {
    const Rank begin = position;
    const Rank end = last(position);
    const Rank wrap = problem_.ranks - tree_.rank(0);  // the position of rank 0
    if (end <= wrap || begin >= wrap) return {stretch(begin, end), {}};
    return {stretch(begin, wrap), stretch(wrap, end)};
  }
  [[nodiscard]] Count elements(Rank position) const {
    const auto both = parts(position);
    return both[0].count + both[1].count;
  }

 private:
  /// Of positions that do not wrap.
  [[nodiscard]] Range stretch(Rank begin, Rank end) const {
    if (begin == end) return {};
    const Range first = problem_.part(tree_.rank(begin));
    return {first.begin, problem_.part(tree_.rank(end - 1)).end() - first.begin};
  }

  const Problem& problem_;
  Rotated tree_;
};

}  // namespace latecomer
