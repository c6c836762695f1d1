#include "negative/equivalence.hpp"

#include <algorithm>
#include <deque>
#include <map>

namespace latecomer::testing {
namespace {

bool overlap(const Slice& one, const Slice& other) {
  return !one.empty() && !other.empty() && one.overlaps(other);
}

bool touches_user_data(const Operation& op) {
  const Accesses touched = accesses(op);
  for (const Slice& slice : {touched.reads[0], touched.reads[1], touched.write}) {
    if (slice.empty()) continue;
    if (slice.buffer == Buffer::input || slice.buffer == Buffer::output) return true;
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

bool inside(const Slice& part, const Slice& whole) {
  return part.buffer == whole.buffer && part.begin >= whole.begin && part.end() <= whole.end();
}

bool only_orders(const Operation& op) {
  return op.kind == OpKind::signal || op.kind == OpKind::await;
}

/// Where the content of a slice, read by operation `at`, comes from: through all copies back to
/// what another operation wrote last, or another rank, as an await tells (-1: nobody did).
std::pair<Slice, std::int64_t> origin(const Program& program, OpIndex at, Slice slice) {
  for (OpIndex i = at; i-- > 0;) {
    const Operation& op = program.operations[i];
    const Slice written = accesses(op).write;
    if (op.kind == OpKind::signal || !overlap(written, slice)) continue;
    if (op.kind != OpKind::copy || !inside(slice, op.target)) return {slice, i};
    slice = op.source.part(slice.begin - op.target.begin, slice.count);
  }
  return {slice, -1};
}

/// True if the operation does not write its source.
bool only_reads_source(const Operation& op) {
  return op.kind == OpKind::send || op.kind == OpKind::copy || op.kind == OpKind::accumulate ||
         (op.kind == OpKind::combine && op.into == Into::right);
}

/// Which slice an operation reads does not matter if both hold copies of the same.
bool reads_a_copy(const Program& original, const Mutant& mutant) {
  const Slice& is = mutant.program.operations[mutant.at].source;
  const Slice& was = original.operations[mutant.at].source;
  const Operation& changed = mutant.program.operations[mutant.at];
  if (changed.target != original.operations[mutant.at].target) return false;
  if (is.count != was.count || !only_reads_source(changed)) return false;
  return origin(original, mutant.at, is) == origin(original, mutant.at, was) &&
         ordered(mutant.program);
}

bool known_slice(const Program& program, const Slice& slice) {
  if (slice == kNothing) return true;
  return slice.buffer == Buffer::node && slice.begin >= 0 && slice.count > 0 &&
         slice.end() <= program.node_count;
}

/// Signals and awaits touch nothing: changed, moved, doubled or removed, they do the same if
/// everything is still ordered.
bool still_ordered(const Mutant& mutant, const std::vector<Program>& programs) {
  for (const Operation& op : mutant.program.operations) {
    if (!only_orders(op)) continue;
    if (op.flag < 0 || op.flag >= mutant.program.flags) return false;
    if (op.kind == OpKind::await && op.count < 1) return false;
    if (!known_slice(mutant.program, op.source)) return false;
    if (!known_slice(mutant.program, op.target)) return false;
  }
  return ordered(mutant.program) && counted_right(programs) && race_free(programs);
}

/// True if the change has to do with signals or awaits only.
bool changes_order_only(const Program& original, const Mutant& mutant) {
  const Operation& op = original.operations[mutant.at];
  if (mutant.change == Change::drop_dependency) return false;
  if (mutant.change != Change::swap_with_next) return only_orders(op);
  return only_orders(op) || only_orders(original.operations[mutant.at + 1]);
}

/// The begins and ends of all operations of all ranks, and those that come after each.
class Moments {
 public:
  explicit Moments(const std::vector<Program>& programs) {
    for (const Program& program : programs) {
      first_.push_back(count_);
      count_ += 2 * program.operations.size();
    }
    later_.resize(count_);
    for (std::size_t r = 0; r < programs.size(); ++r) add_program(programs[r], r);
    add_messages(programs);
    add_flags(programs);
    close();
  }

  bool circular() const { return circular_; }
  bool before(std::size_t rank, OpIndex one, std::size_t other_rank, OpIndex other) const {
    return reached_[end(rank, one)][begin(other_rank, other)];
  }

 private:
  std::size_t begin(std::size_t rank, OpIndex index) const { return first_[rank] + 2 * index; }
  std::size_t end(std::size_t rank, OpIndex index) const { return begin(rank, index) + 1; }

  void add_program(const Program& program, std::size_t rank) {
    for (OpIndex i = 0; i < program.operations.size(); ++i) {
      later_[begin(rank, i)].push_back(end(rank, i));
      for (const OpIndex d : program.after[i]) later_[end(rank, d)].push_back(begin(rank, i));
    }
  }

  void add_messages(const std::vector<Program>& programs) {
    std::map<std::pair<std::size_t, std::size_t>, std::deque<std::size_t>> sent;
    const auto peer = [](const Operation& op) { return static_cast<std::size_t>(op.peer); };
    for (std::size_t r = 0; r < programs.size(); ++r) {
      for (OpIndex i = 0; i < programs[r].operations.size(); ++i) {
        const Operation& op = programs[r].operations[i];
        if (op.kind == OpKind::send) sent[{r, peer(op)}].push_back(begin(r, i));
      }
    }
    for (std::size_t r = 0; r < programs.size(); ++r) {
      for (OpIndex i = 0; i < programs[r].operations.size(); ++i) {
        const Operation& op = programs[r].operations[i];
        if (op.kind != OpKind::recv) continue;
        auto& channel = sent[{peer(op), r}];
        if (channel.empty()) continue;
        later_[channel.front()].push_back(end(r, i));
        channel.pop_front();
      }
    }
  }

  void add_flags(const std::vector<Program>& programs) {
    std::map<std::pair<Rank, std::int32_t>, std::vector<std::size_t>> counted;
    for (std::size_t r = 0; r < programs.size(); ++r) {
      for (OpIndex i = 0; i < programs[r].operations.size(); ++i) {
        const Operation& op = programs[r].operations[i];
        if (!has_flag(op) || op.kind == OpKind::await) continue;
        counted[{programs[r].node, op.flag}].push_back(end(r, i));
      }
    }
    for (std::size_t r = 0; r < programs.size(); ++r) {
      for (OpIndex i = 0; i < programs[r].operations.size(); ++i) {
        const Operation& op = programs[r].operations[i];
        if (op.kind != OpKind::await) continue;
        for (const auto moment : counted[{programs[r].node, op.flag}]) {
          later_[moment].push_back(end(r, i));
        }
      }
    }
  }

  void close() {
    std::vector<std::size_t> waits(count_), order;
    for (const auto& later : later_) {
      for (const std::size_t moment : later) ++waits[moment];
    }
    for (std::size_t i = 0; i < count_; ++i) {
      if (waits[i] == 0) order.push_back(i);
    }
    for (std::size_t next = 0; next < order.size(); ++next) {
      for (const std::size_t moment : later_[order[next]]) {
        if (--waits[moment] == 0) order.push_back(moment);
      }
    }
    circular_ = order.size() < count_;
    reached_.assign(count_, std::vector<bool>(count_));
    for (std::size_t i = order.size(); i-- > 0;) {
      std::vector<bool>& reached = reached_[order[i]];
      for (const std::size_t moment : later_[order[i]]) {
        reached[moment] = true;
        for (std::size_t j = 0; j < count_; ++j) {
          if (reached_[moment][j]) reached[j] = true;
        }
      }
    }
  }

  std::size_t count_ = 0;
  std::vector<std::size_t> first_;
  std::vector<std::vector<std::size_t>> later_;
  std::vector<std::vector<bool>> reached_;
  bool circular_ = false;
};

/// True if the operations touch a common element of the buffer of their node, one writing it.
bool conflict_on_node(const Operation& one, const Operation& other) {
  if (only_orders(one) || only_orders(other)) return false;
  if (one.kind == OpKind::accumulate && other.kind == OpKind::accumulate &&
      one.flag == other.flag && !overlap(one.source, other.target) &&
      !overlap(one.target, other.source)) {
    return false;
  }
  const auto on_node = [](Operation op) {
    if (op.source.buffer != Buffer::node) op.source = kNothing;
    if (op.target.buffer != Buffer::node) op.target = kNothing;
    return op;
  };
  return in_conflict(on_node(one), on_node(other));
}

bool ordered_pair(const std::vector<Program>& programs, const Moments& moments, std::size_t r,
                  std::size_t s) {
  for (OpIndex i = 0; i < programs[r].operations.size(); ++i) {
    for (OpIndex j = 0; j < programs[s].operations.size(); ++j) {
      if (!conflict_on_node(programs[r].operations[i], programs[s].operations[j])) continue;
      if (!moments.before(r, i, s, j) && !moments.before(s, j, r, i)) return false;
    }
  }
  return true;
}

}  // namespace

bool race_free(const std::vector<Program>& programs) {
  const Moments moments(programs);
  if (moments.circular()) return false;
  for (std::size_t r = 0; r < programs.size(); ++r) {
    for (std::size_t s = r + 1; s < programs.size(); ++s) {
      if (programs[r].node != programs[s].node) continue;
      if (!ordered_pair(programs, moments, r, s)) return false;
    }
  }
  return true;
}

bool counted_right(const std::vector<Program>& programs) {
  std::map<std::pair<Rank, std::int32_t>, std::vector<const Operation*>> counting, awaits;
  for (const Program& program : programs) {
    for (const Operation& op : program.operations) {
      if (!has_flag(op)) continue;
      (op.kind == OpKind::await ? awaits : counting)[{program.node, op.flag}].push_back(&op);
    }
  }
  for (const auto& [flag, operations] : awaits) {
    for (const Operation* await : operations) {
      if (static_cast<std::size_t>(await->count) != counting[flag].size()) return false;
    }
  }
  for (const auto& [flag, operations] : counting) {
    for (const Operation* op : operations) {
      if (op->kind != operations.front()->kind) return false;
      if (op->kind == OpKind::accumulate && op->target != operations.front()->target) return false;
    }
  }
  return true;
}

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

bool equivalent(const Program& original, const Mutant& mutant,
                const std::vector<Program>& programs) {
  if (changes_order_only(original, mutant)) return still_ordered(mutant, programs);
  if (original.flags > 0 && !race_free(programs)) return false;
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
    case Change::flag:
    case Change::count:
    case Change::use_for_data:
      return false;
  }
  return false;
}

}  // namespace latecomer::testing
