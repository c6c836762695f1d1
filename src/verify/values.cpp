#include "verify/values.hpp"

#include <utility>

#include "base/threads.hpp"
#include "spec/condition.hpp"

namespace latecomer::verifier {
namespace {

/// The stretches of two operands that each hold one piece on both sides.
struct Pair {
  Piece left;
  Piece right;
};

Piece part(const Piece& piece, Count begin, Count end) {
  Piece result = piece;
  result.offset = begin;
  result.count = end - begin;
  result.first += begin - piece.offset;
  return result;
}

std::vector<Pair> align(const std::vector<Piece>& left, const std::vector<Piece>& right) {
  std::vector<Pair> pairs;
  for (std::size_t l = 0, r = 0; l < left.size() && r < right.size();) {
    const Count left_end = left[l].offset + left[l].count;
    const Count right_end = right[r].offset + right[r].count;
    const Count begin = std::max(left[l].offset, right[r].offset);
    const Count end = std::min(left_end, right_end);
    pairs.push_back({part(left[l], begin, end), part(right[r], begin, end)});
    if (left_end == end) ++l;
    if (right_end == end) ++r;
  }
  return pairs;
}

/// Combines the operands of one operation, stretch by stretch. An accumulate combines as a combine
/// into its right operand does.
class Combination {
 public:
  Combination(const Program& program, OpIndex index, Values& values, Unordered unordered = kOrdered)
      : program_(program), index_(index), values_(values), unordered_(unordered) {}

  Finding run() {
    const Operation& op = program_.operations[index_];
    if (!program_.commutative && op.into == Into::left) {
      return Counterexample{"order", place(program_, index_) +
                                         " combines into the left operand: only a commutative "
                                         "operator may (MPI_Reduce_local writes the right one)"};
    }
    const auto left = values_.read(program_.me, op.source);
    const auto right = values_.read(program_.me, op.target);
    std::vector<Piece> result;
    for (const Pair& pair : align(left, right)) {
      if (Finding found = check(pair)) return found;
      result.push_back(evaluated(op, pair));
    }
    values_.write(program_.me, op.result(), result);
    return {};
  }

 private:
  /// Combines as MPI_Reduce_local does: inout = in op inout, so the operand that is written stands
  /// on the right.
  Piece evaluated(const Operation& op, const Pair& pair) const {
    const bool as_written = op.into == Into::right;
    const Piece& in = as_written ? pair.left : pair.right;
    const Piece& inout = as_written ? pair.right : pair.left;
    Piece result = inout;
    result.expression = values_.expressions().node(in.expression, inout.expression, unordered_);
    result.evaluation = values_.evaluations().combined(
        in.evaluation, inout.evaluation, {inout.first - inout.offset, op.source.count}, unordered_);
    return result;
  }

  Finding check(const Pair& pair) const {
    const Expressions& expressions = values_.expressions();
    const Expression left = pair.left.expression;
    const Expression right = pair.right.expression;
    if (pair.left.first != pair.right.first) {
      return broken("index", pair, "only the same elements may be combined");
    }
    if (!expressions.disjoint(left, right)) {
      return broken("once", pair, "a rank would contribute twice");
    }
    if (program_.commutative || expressions.highest(left) + 1 == expressions.lowest(right)) {
      return {};
    }
    return broken("order", pair, "the left ranks must lie directly below the right ones");
  }

  Finding broken(std::string_view rule, const Pair& pair, const std::string& why) const {
    return Counterexample{rule, place(program_, index_) + ": the left operand holds " +
                                    values_.to_text(pair.left) + ", the right one " +
                                    values_.to_text(pair.right) + "; " + why};
  }

  const Program& program_;
  OpIndex index_;
  Values& values_;
  Unordered unordered_;
};

/// Finds elements of a slice that an operation reads but none wrote.
Finding undefined(const Program& program, OpIndex index, const Slice& slice,
                  const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    if (piece.defined) continue;
    const Slice empty = slice.part(piece.offset, piece.count);
    return Counterexample{"undefined", place(program, index) + " reads " + to_text(empty) +
                                           ", which was never written"};
  }
  return {};
}

}  // namespace

Values::Values(const Problem& problem, Programs programs)
    : expressions_(problem.ranks),
      evaluations_(problem.ranks),
      held_(programs.size()),
      nodes_(programs.size()) {
  for (const Program& program : programs) {
    node_of_.push_back(program.node);
    for (const Holding& holding : precondition(problem, program.me)) {
      if (holding.slice.empty() || !holding.contributor) continue;
      const Expression own = Expressions::leaf(*holding.contributor);
      write(program.me, holding.slice,
            {{0, holding.slice.count, true, own, own, holding.first_element}});
    }
  }
}

std::vector<Piece> Values::read(Rank rank, const Slice& slice) const {
  std::vector<Piece> pieces;
  const Contents& contents = slice.buffer == Buffer::node
                                 ? nodes_[node_of_[rank]]
                                 : held_[rank][static_cast<int>(slice.buffer)];
  contents.visit({slice.begin, slice.count}, [&](Range range, const Held* held) {
    Piece piece{range.begin - slice.begin, range.count, held != nullptr, 0, 0, 0};
    if (held != nullptr) {
      piece.expression = held->expression;
      piece.evaluation = held->evaluation;
      piece.first = range.begin + held->shift;
    }
    pieces.push_back(piece);
  });
  return pieces;
}

void Values::write(Rank rank, const Slice& slice, const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    const Count begin = slice.begin + piece.offset;
    contents(rank, slice.buffer)
        .assign({begin, piece.count}, {piece.expression, piece.evaluation, piece.first - begin});
  }
}

/// The first accumulate on a flag copies.
Finding Values::accumulate(const Program& program, HappensBefore& order, Step step) {
  const Operation& op = program.operations[step.index];
  const std::uint32_t flag = order.flags().number(program, op.flag);
  accumulated_.resize(order.flags().size());
  std::vector<Step>& before = accumulated_[flag];
  const bool first = before.empty();
  const bool ordered =
      first || program.commutative || !order.first_unordered(before, step).has_value();
  const std::vector<Step> previous = std::exchange(before, {step});
  const auto source = read(step.rank, op.source);
  if (Finding found = undefined(program, step.index, op.source, source)) return found;
  if (first) {
    write(step.rank, op.target, source);
    return {};
  }
  if (Finding found = undefined(program, step.index, op.target, read(step.rank, op.target))) {
    return found;
  }
  if (!ordered) {
    return Counterexample{"order", place(program, step.index) +
                                       " may come before or after the accumulate of rank " +
                                       std::to_string(previous.front().rank) +
                                       " on its flag: only a commutative operator may be used"};
  }
  return Combination(program, step.index, *this, program.commutative ? flag : kOrdered).run();
}

Finding Values::apply(Programs programs, const Messages& messages, HappensBefore& order,
                      Step step) {
  const Program& program = programs[step.rank];
  const Operation& op = program.operations[step.index];
  if (op.kind == OpKind::accumulate) return accumulate(program, order, step);
  if (op.kind == OpKind::arrive || has_flag(op)) return {};
  // A receive reads the source of its send.
  const Step source =
      op.kind != OpKind::recv ? step : Step{op.peer, messages.partner[step.rank][step.index]};
  const Program& reader = programs[source.rank];
  const Accesses touched = accesses(reader.operations[source.index]);
  for (const Slice& slice : touched.reads) {
    if (Finding found = undefined(reader, source.index, slice, read(source.rank, slice))) {
      return found;
    }
  }
  if (op.kind == OpKind::combine) return Combination(program, step.index, *this).run();
  write(step.rank, op.target, read(source.rank, touched.reads[0]));
  return {};
}

std::string Values::to_text(const Piece& piece) const {
  if (!piece.defined) return "nothing";
  const std::string first = std::to_string(piece.first);
  const std::string last = std::to_string(piece.first + piece.count - 1);
  const std::string which =
      piece.count == 1 ? "element " + first : "elements " + first + " to " + last;
  return which + " of " + expressions_.to_text(piece.expression);
}

Finding check_values(Programs programs, const Messages& messages, const Execution& execution,
                     HappensBefore& order, Values& values) {
  for (const Step step : execution.steps) {
    interruption_point();
    if (Finding found = values.apply(programs, messages, order, step)) return found;
  }
  return {};
}

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

/// right(holding, piece) says if a piece is as it should be.
template <typename Right>
Finding check_each(const Problem& problem, Programs programs, const Values& values,
                   std::string_view rule, Right right) {
  const auto check = [&](Rank rank, const Holding& holding, const Piece& piece) -> Finding {
    if (right(holding, piece)) return {};
    return Counterexample{rule, holds(rank, holding, piece, values) + ", should hold " +
                                    wanted(problem, holding, piece)};
  };
  return each_result(problem, programs, values, check);
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
  return check_each(problem, programs, values, "index",
                    [](const Holding& holding, const Piece& piece) {
                      return !piece.defined || piece.first == holding.first_element + piece.offset;
                    });
}

Finding check_delivery(const Problem& problem, Programs programs, const Values& values) {
  return check_each(problem, programs, values, "delivery",
                    [&](const Holding& holding, const Piece& piece) {
                      return as_wanted(holding, piece, values.expressions());
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
