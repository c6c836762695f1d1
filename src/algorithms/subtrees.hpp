// The parts of a binomial tree's subtrees: runs of positions, which may wrap around the last rank.
#pragma once

#include <array>

#include "patterns/powers.hpp"
#include "patterns/rotated.hpp"
#include "schedule/program.hpp"

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

/// Where a rank keeps the parts of its subtree, in the order of the vector.
class HeldParts {
 public:
  HeldParts(const Subtrees& subtrees, Rank position) : parts_(subtrees.parts(position)) {}

  [[nodiscard]] const std::array<Range, 2>& parts() const { return parts_; }
  /// Calls hold(part), which says where it is.
  template <class Hold>
  void place_all(const Hold& hold) {
    for (std::size_t i = 0; i < parts_.size(); ++i) places_[i] = hold(parts_[i]);
  }
  /// Of a range within one of them.
  [[nodiscard]] Slice place(Range range) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const bool here = range.begin >= parts_[i].begin && range.end() <= parts_[i].end();
      if (here && !range.empty())
        return places_[i].part(range.begin - parts_[i].begin, range.count);
    }
    return {};
  }

 private:
  std::array<Range, 2> parts_;
  std::array<Slice, 2> places_{};
};

}  // namespace latecomer
