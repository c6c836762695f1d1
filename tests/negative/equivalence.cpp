#include "negative/equivalence.hpp"

#include <algorithm>

namespace latecomer::testing {
namespace {

bool overlap(const Slice& one, const Slice& other) {
  return !one.empty() && !other.empty() && one.overlaps(other);
}

bool touches_user_data(const Operation& op) {
  const Accesses touched = accesses(op);
  for (const Slice& slice : {touched.reads[0], touched.reads[1], touched.write}) {
    if (!slice.empty() && slice.buffer != Buffer::scratch) return true;
  }
  return false;
}

/// ancestors[i][j]: operation i waits for j, directly or through others.
std::vector<std::vector<bool>> closure(const Program& program) {
  const std::size_t size = program.operations.size();
  std::vector<std::vector<bool>> ancestors(size, std::vector<bool>(size));
  for (std::size_t i = 0; i < size; ++i) {
    for (const OpIndex direct : program.after[i]) {
      ancestors[i][direct] = true;
      for (std::size_t j = 0; j < direct; ++j) {
        if (ancestors[direct][j]) ancestors[i][j] = true;
      }
    }
  }
  return ancestors;
}

bool only_earlier(const Program& program) {
  for (OpIndex i = 0; i < program.operations.size(); ++i) {
    const auto& after = program.after[i];
    if (std::any_of(after.begin(), after.end(), [&](OpIndex d) { return d >= i; })) return false;
    if (program.operations[i].kind == OpKind::arrive && !after.empty()) return false;
  }
  return true;
}

/// Messages of one kind with one peer are matched by their order.
bool same_channel(const Operation& one, const Operation& other) {
  return one.peer >= 0 && one.kind == other.kind && one.peer == other.peer;
}

/// Neighbours may change places if neither has to do with the other. The dependencies must still
/// say all that they have to.
bool independent_neighbours(const Program& original, const Mutant& mutant) {
  const Operation& one = original.operations[mutant.at];
  const Operation& next = original.operations[mutant.at + 1];
  return !same_channel(one, next) && !in_conflict(one, next) && ordered(mutant.program);
}

/// Copying the same elements once more changes nothing, if the second copy waits for the first.
bool copies_twice(const Program& original, const Mutant& mutant) {
  return original.operations[mutant.at].kind == OpKind::copy && ordered(mutant.program);
}

/// Which slice an operation reads does not matter between the two ends of an earlier copy, as long
/// as neither end has been written since.
bool reads_a_copy(const Program& original, const Mutant& mutant) {
  const Slice& is = mutant.program.operations[mutant.at].source;
  const Slice& was = original.operations[mutant.at].source;
  const OpKind kind = original.operations[mutant.at].kind;
  if (kind != OpKind::send && kind != OpKind::copy) return false;
  for (OpIndex i = mutant.at; i-- > 0;) {
    const Operation& op = original.operations[i];
    const bool either_way =
        (op.source == is && op.target == was) || (op.source == was && op.target == is);
    if (op.kind == OpKind::copy && either_way) return ordered(mutant.program);
    const Slice written = accesses(op).write;
    if (overlap(written, is) || overlap(written, was)) return false;
  }
  return false;
}

}  // namespace

bool in_conflict(const Operation& one, const Operation& other) {
  const Accesses a = accesses(one);
  const Accesses b = accesses(other);
  return overlap(a.write, b.write) || overlap(a.write, b.reads[0]) ||
         overlap(a.write, b.reads[1]) || overlap(b.write, a.reads[0]) ||
         overlap(b.write, a.reads[1]);
}

bool ordered(const Program& program) {
  if (!only_earlier(program)) return false;
  const auto ancestors = closure(program);
  const auto& operations = program.operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    bool arrived = false;
    for (std::size_t j = 0; j < operations.size(); ++j) {
      if (j < i && in_conflict(operations[j], operations[i]) && !ancestors[i][j]) return false;
      if (operations[j].kind == OpKind::arrive && ancestors[i][j]) arrived = true;
    }
    if (touches_user_data(operations[i]) && !arrived) return false;
  }
  return true;
}

bool equivalent(const Program& original, const Mutant& mutant) {
  switch (mutant.change) {
    case Change::swap_operands_and_flip_into:
      // The result stays where it was, and the operand that is written stands right in any case.
      return original.commutative;
    case Change::drop_dependency:
      // Another path still orders the two operations.
      return ordered(mutant.program);
    case Change::swap_with_next:
      return independent_neighbours(original, mutant);
    case Change::duplicate:
      return copies_twice(original, mutant);
    case Change::slice:
      return reads_a_copy(original, mutant);
    case Change::remove:
    case Change::peer:
    case Change::swap_operands:
    case Change::flip_into:
    case Change::send_for_recv:
    case Change::copy_for_combine:
      return false;
  }
  return false;
}

}  // namespace latecomer::testing
