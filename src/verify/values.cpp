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

}  // namespace latecomer::verifier
