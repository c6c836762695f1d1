#include "verify/expressions.hpp"

#include <algorithm>

namespace latecomer::verifier {
namespace {

constexpr std::size_t kWordBits = 64;
constexpr Rank kLeavesShown = 16;

}  // namespace

Expressions::Expressions(Rank ranks)
    : ranks_(ranks), words_((static_cast<std::size_t>(ranks) + kWordBits - 1) / kWordBits) {
  sets_.resize(words_ * static_cast<std::size_t>(ranks));
  for (Rank rank = 0; rank < ranks; ++rank) {
    const Expression self = leaf(rank);
    nodes_.push_back({self, self, rank, rank, 1, true});
    sets_[self * words_ + self / kWordBits] |= std::uint64_t{1} << (self % kWordBits);
  }
}

Expression Expressions::node(Expression left, Expression right, Unordered unordered) {
  const bool ordered = unordered == kOrdered;
  const auto next = static_cast<Expression>(nodes_.size());
  const Expression known =
      ordered ? known_.try_emplace(std::uint64_t{left} << 32 | right, next).first->second
              : known_unordered_.try_emplace({unordered, left, right}, next).first->second;
  if (known != next) return known;
  const Node l = nodes_[left];
  const Node r = nodes_[right];
  nodes_.push_back({left, right, std::min(l.lowest, r.lowest), std::max(l.highest, r.highest),
                    l.contributions + r.contributions, ordered});
  for (std::size_t w = 0; w < words_; ++w) {
    sets_.push_back(sets_[left * words_ + w] | sets_[right * words_ + w]);
  }
  return next;
}

bool Expressions::disjoint(Expression one, Expression other) const {
  for (std::size_t w = 0; w < words_; ++w) {
    if ((sets_[one * words_ + w] & sets_[other * words_ + w]) != 0) return false;
  }
  return true;
}

bool Expressions::contains(Expression expression, Rank rank) const {
  const auto bit = static_cast<std::size_t>(rank);
  return (sets_[expression * words_ + bit / kWordBits] >> (bit % kWordBits) & 1) != 0;
}

std::string Expressions::to_text(Expression expression) const {
  if (is_leaf(expression)) return "rank " + tree(expression);
  const bool few = nodes_[expression].contributions <= kLeavesShown;
  return "ranks " + (few ? tree(expression) : contributors(expression));
}

std::string Expressions::tree(Expression expression) const {
  if (is_leaf(expression)) return std::to_string(nodes_[expression].lowest);
  const Node& node = nodes_[expression];
  const std::string operands = tree(node.left) + ' ' + tree(node.right);
  return node.ordered ? '(' + operands + ')' : '[' + operands + ']';
}

std::string Expressions::contributors(Expression expression) const {
  std::string text;
  for (Rank first = 0; first < ranks_; ++first) {
    if (!contains(expression, first)) continue;
    Rank last = first;
    while (last + 1 < ranks_ && contains(expression, last + 1)) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
    first = last;
  }
  return '{' + text + '}';
}

}  // namespace latecomer::verifier
