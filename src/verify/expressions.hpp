// The content of an element: one rank's contribution, or two expressions combined. Equal
// expressions have the same number (hash-consing), so that comparing trees compares numbers.
// Operands have the order in which they are evaluated: operators that MPI calls commutative need
// not commute in bits. Where the ranks of a node accumulate in the order in which they come, this
// order is unknown, but all that read the result read the same one: such expressions are equal only
// if they come from one flag of one node.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/types.hpp"

namespace latecomer::verifier {

using Expression = std::uint32_t;

/// The number of the accumulation that combined in an unknown order.
using Unordered = std::uint32_t;
inline constexpr Unordered kOrdered = ~Unordered{0};

class Expressions {
 public:
  explicit Expressions(Rank ranks);

  /// The contribution of one rank.
  [[nodiscard]] static Expression leaf(Rank rank) { return static_cast<Expression>(rank); }
  /// left op right; their contributions must be disjoint.
  Expression node(Expression left, Expression right, Unordered unordered = kOrdered);

  [[nodiscard]] bool disjoint(Expression one, Expression other) const;
  /// True if all ranks contribute.
  [[nodiscard]] bool complete(Expression expression) const {
    return nodes_[expression].contributions == ranks_;
  }
  [[nodiscard]] Rank lowest(Expression expression) const { return nodes_[expression].lowest; }
  [[nodiscard]] Rank highest(Expression expression) const { return nodes_[expression].highest; }
  /// "ranks ((0 1) 2)", "ranks [0 1]" in an unknown order; only the contributors, "ranks {0-20,
  /// 23}", if they are many.
  [[nodiscard]] std::string to_text(Expression expression) const;

 private:
  struct Node {
    Expression left;
    Expression right;
    Rank lowest;
    Rank highest;
    Rank contributions;
    bool ordered;
  };

  [[nodiscard]] bool is_leaf(Expression expression) const {
    return expression < static_cast<Expression>(ranks_);
  }
  [[nodiscard]] bool contains(Expression expression, Rank rank) const;
  [[nodiscard]] std::string tree(Expression expression) const;
  [[nodiscard]] std::string contributors(Expression expression) const;

  Rank ranks_;
  std::size_t words_;  // of one set
  std::vector<Node> nodes_;
  std::vector<std::uint64_t> sets_;                      // contributing ranks, words_ an expression
  std::unordered_map<std::uint64_t, Expression> known_;  // by both operands
  std::map<std::tuple<Unordered, Expression, Expression>, Expression> known_unordered_;
};

/// An expression together with the slices in which its operators were called: the contribution of
/// rank r has the number r.
using Evaluation = std::uint32_t;

class Evaluations {
 public:
  explicit Evaluations(Rank ranks) : next_(static_cast<Evaluation>(ranks)) {}

  /// left op right, in one call for the elements `slice` of the vector.
  Evaluation combined(Evaluation left, Evaluation right, Range slice,
                      Unordered unordered = kOrdered) {
    const auto [entry, added] =
        known_.try_emplace({left, right, slice.begin, slice.count, unordered}, next_);
    if (added) ++next_;
    return entry->second;
  }

 private:
  Evaluation next_;
  std::map<std::tuple<Evaluation, Evaluation, Count, Count, Unordered>, Evaluation> known_;
};

}  // namespace latecomer::verifier
