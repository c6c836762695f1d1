#include "verify/result.hpp"

#include "base/threads.hpp"
#include "spec/condition.hpp"

namespace latecomer::verifier {
namespace {

/// Calls check(rank, holding, piece) for all pieces that the postcondition names.
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

/// The way in which an element was combined on the first rank that has it.
struct Combined {
  bool known = false;
  Expression expression = 0;
  Evaluation evaluation = 0;
  Rank rank = 0;
  bool operator==(const Combined&) const = default;
};

/// Compares the combined elements of each rank with those of the first rank that has them:
/// differs(piece, first) returns the words of the difference, or none.
template <typename Differs>
Finding compare_with_first(const Problem& problem, Programs programs, const Values& values,
                           std::string_view rule, Differs differs) {
  IntervalMap<Combined> results;  // by element of the vector
  const auto compare = [&](Rank rank, const Holding& holding, const Piece& piece) {
    Finding found;
    results.update({piece.first, piece.count}, [&](Range, Combined& first) {
      if (!first.known) first = {true, piece.expression, piece.evaluation, rank};
      if (found) return;
      const std::string words = differs(piece, first);
      if (!words.empty()) {
        found = Counterexample{rule, holds(rank, holding, piece, values) + words};
      }
    });
    return found;
  };
  return each_result(problem, programs, values, compare);
}

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
  const auto differs = [&](const Piece& piece, const Combined& first) -> std::string {
    if (piece.expression == first.expression) return "";
    return " where rank " + std::to_string(first.rank) + " has " +
           values.expressions().to_text(first.expression) + ": the last bits may differ";
  };
  return compare_with_first(problem, programs, values, "same-tree", differs);
}

Finding check_same_slices(const Problem& problem, Programs programs, const Values& values) {
  const auto differs = [&](const Piece& piece, const Combined& first) -> std::string {
    if (piece.evaluation == first.evaluation) return "";
    return ", combined in other slices than on rank " + std::to_string(first.rank) +
           ": the last bits may differ";
  };
  return compare_with_first(problem, programs, values, "same-slices", differs);
}

}  // namespace latecomer::verifier
