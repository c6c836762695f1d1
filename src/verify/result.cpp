#include "verify/result.hpp"

#include "base/interruption.hpp"
#include "spec/condition.hpp"

namespace latecomer::verifier {
namespace {

/// Calls check(rank, holding, piece) for all pieces of what the postcondition names.
template <typename Check>
Finding each_result(const Problem& problem, Programs programs, const Values& values, Check check) {
  for (const Program& program : programs) {
    for (const Holding& holding : postcondition(problem, program.me)) {
      interruption_point();
      for (const Piece& piece : values.read(program.me, holding.slice)) {
        if (Finding found = check(program.me, holding, piece)) return found;
      }
    }
  }
  return {};
}

std::string holds(Rank rank, const Holding& holding, const Piece& piece, const Values& values) {
  return "rank " + std::to_string(rank) + " ends with " +
         to_text(holding.slice.part(piece.offset, piece.count)) + " holding " +
         values.to_text(piece);
}

/// "element 4 and the following of all 3 ranks"
std::string wanted(const Problem& problem, const Holding& holding, const Piece& piece) {
  const std::string first = std::to_string(holding.first_element + piece.offset);
  const std::string who = holding.contributor ? "rank " + std::to_string(*holding.contributor)
                                              : "all " + quantity(problem.ranks, "rank");
  return "element " + first + (piece.count > 1 ? " and the following" : "") + " of " + who;
}

bool as_wanted(const Holding& holding, const Piece& piece, const Expressions& expressions) {
  if (!piece.defined) return false;
  return holding.contributor ? piece.expression == Expressions::leaf(*holding.contributor)
                             : expressions.complete(piece.expression);
}

/// The tree of an element on the first rank that has it.
struct Tree {
  bool known = false;
  Expression unordered = 0;
  Expression shown = 0;
  Rank rank = 0;
  bool operator==(const Tree&) const = default;
};

}  // namespace

Finding check_places(const Problem& problem, Programs programs, const Values& values) {
  return each_result(problem, programs, values,
                     [&](Rank rank, const Holding& holding, const Piece& piece) -> Finding {
                       if (!piece.defined || piece.first == holding.first_element + piece.offset)
                         return {};
                       return Counterexample{"index", holds(rank, holding, piece, values) +
                                                          ", should hold " +
                                                          wanted(problem, holding, piece)};
                     });
}

Finding check_delivery(const Problem& problem, Programs programs, const Values& values) {
  return each_result(problem, programs, values,
                     [&](Rank rank, const Holding& holding, const Piece& piece) -> Finding {
                       if (as_wanted(holding, piece, values.expressions())) return {};
                       return Counterexample{"delivery", holds(rank, holding, piece, values) +
                                                             ", should hold " +
                                                             wanted(problem, holding, piece)};
                     });
}

Finding check_same_tree(const Problem& problem, Programs programs, const Values& values) {
  const Expressions& expressions = values.expressions();
  IntervalMap<Tree> trees;  // by element of the vector
  // A tree that keeps the rule order is known by its grouping: no operands can have been swapped.
  const auto compare = [&](Rank rank, const Holding& holding, const Piece& piece) {
    const Expression tree = expressions.unordered(piece.expression);
    Finding found;
    trees.update({piece.first, piece.count}, [&](Range, Tree& other) {
      if (!other.known) other = {true, tree, piece.expression, rank};
      if (other.unordered == tree || found) return;
      found = Counterexample{"same-tree", holds(rank, holding, piece, values) + " where rank " +
                                              std::to_string(other.rank) + " has " +
                                              expressions.to_text(other.shown) +
                                              ": rounding may differ"};
    });
    return found;
  };
  return each_result(problem, programs, values, compare);
}

}  // namespace latecomer::verifier
