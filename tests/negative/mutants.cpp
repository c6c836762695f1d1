#include "negative/mutants.hpp"

#include <algorithm>

#include "schedule/builder.hpp"

namespace latecomer::testing {
namespace {

const char* name(Change change) {
  switch (change) {
    case Change::remove:
      return "removed";
    case Change::swap_with_next:
      return "swapped with the next";
    case Change::peer:
      return "another peer";
    case Change::slice:
      return "another slice";
    case Change::swap_operands:
      return "operands swapped";
    case Change::flip_into:
      return "into the other operand";
    case Change::swap_operands_and_flip_into:
      return "operands swapped, into the same";
    case Change::send_for_recv:
      return "other direction";
    case Change::copy_for_combine:
      return "copies only";
    case Change::flag:
      return "another flag";
    case Change::count:
      return "another count";
    case Change::use_for_data:
      return "tells of data instead of use, or of use instead of data";
    case Change::drop_dependency:
      return "one dependency dropped";
    case Change::duplicate:
      return "twice";
  }
  return "";
}

const char* name(After after) {
  if (after == After::renumbered) return "renumbered";
  return after == After::in_place ? "in place" : "derived";
}

/// All slices that differ from the given one by one step: begin or end or both by one element,
/// another buffer.
std::vector<Slice> neighbours(const Slice& slice, const Program& program) {
  std::vector<Slice> result;
  for (const Count shift : {-1, 1}) {
    result.push_back({slice.buffer, slice.begin + shift, slice.count});
    result.push_back({slice.buffer, slice.begin, slice.count + shift});
    result.push_back({slice.buffer, slice.begin + shift, slice.count - shift});
  }
  for (const Buffer buffer : {Buffer::input, Buffer::output, Buffer::scratch}) {
    if (buffer != slice.buffer) result.push_back({buffer, slice.begin, slice.count});
  }
  if (program.node_count > 0 && slice.buffer != Buffer::node) {
    result.push_back({Buffer::node, slice.begin, slice.count});
  }
  return result;
}

class Mutator {
 public:
  Mutator(const Program& original, const Visit& visit) : original_(original), visit_(visit) {}

  void run() {
    for (at_ = 0; at_ < original_.operations.size(); ++at_) {
      change_fields();
      remove();
      duplicate();
      drop_dependencies();
      if (at_ + 1 < original_.operations.size()) swap_with_next();
    }
  }

 private:
  const Operation& operation() const { return original_.operations[at_]; }

  void report(Change change, After after, Program program) {
    visit_({change, after, at_, std::move(program)});
  }

  /// With the dependencies as they are, and derived anew.
  void report_both(Change change, const Program& program) {
    report(change, After::renumbered, program);
    Program derived = program;
    derive_dependencies(derived);
    report(change, After::derived, std::move(derived));
  }

  void replace(Change change, const Operation& operation) {
    Program program = original_;
    program.operations[at_] = operation;
    report_both(change, program);
  }

  void change_fields() {
    const OpKind kind = operation().kind;
    if (kind == OpKind::send || kind == OpKind::recv) change_message();
    if (kind == OpKind::combine) change_combine();
    if (kind == OpKind::accumulate) change_accumulate();
    if (kind == OpKind::signal) turn_signal();
    if (has_flag(operation())) change_flag();
    if (kind == OpKind::await) change_count();
    if (!operation().source.empty()) change_slice(&Operation::source);
    if (!operation().target.empty()) change_slice(&Operation::target);
  }

  void change_slice(Slice Operation::* slice) {
    for (const Slice& other : neighbours(operation().*slice, original_)) {
      Operation changed = operation();
      changed.*slice = other;
      replace(Change::slice, changed);
    }
  }

  void change_message() {
    for (Rank peer = -1; peer <= original_.ranks; ++peer) {
      Operation changed = operation();
      changed.peer = peer;
      if (peer != operation().peer) replace(Change::peer, changed);
    }
    Operation turned = operation();
    turned.kind = turned.kind == OpKind::send ? OpKind::recv : OpKind::send;
    std::swap(turned.source, turned.target);
    replace(Change::send_for_recv, turned);
  }

  void change_combine() {
    Operation flipped = operation();
    flipped.into = flipped.into == Into::left ? Into::right : Into::left;
    replace(Change::flip_into, flipped);
    std::swap(flipped.source, flipped.target);
    replace(Change::swap_operands_and_flip_into, flipped);
    Operation swapped = operation();
    std::swap(swapped.source, swapped.target);
    replace(Change::swap_operands, swapped);
    Operation copied = operation();
    copied.kind = OpKind::copy;
    replace(Change::copy_for_combine, copied);
  }

  void change_accumulate() {
    Operation flipped = operation();
    flipped.into = Into::left;
    replace(Change::flip_into, flipped);
    Operation swapped = operation();
    std::swap(swapped.source, swapped.target);
    replace(Change::swap_operands, swapped);
    Operation copied = operation();
    copied.kind = OpKind::copy;
    copied.flag = -1;
    replace(Change::copy_for_combine, copied);
  }

  void turn_signal() {
    Operation turned = operation();
    std::swap(turned.source, turned.target);
    replace(Change::use_for_data, turned);
  }

  void change_flag() {
    for (std::int32_t flag = -1; flag <= original_.flags; ++flag) {
      Operation changed = operation();
      changed.flag = flag;
      if (flag != operation().flag) replace(Change::flag, changed);
    }
  }

  void change_count() {
    for (const Rank count : {0, operation().count - 1, operation().count + 1}) {
      Operation changed = operation();
      changed.count = count;
      replace(Change::count, changed);
    }
  }

  /// The original with operation number `of(i)` where number i was, and dependencies alike.
  template <typename NewIndex>
  void renumber(Program& program, NewIndex of) {
    for (auto& after : program.after) {
      for (OpIndex& index : after) index = of(index);
    }
  }

  void remove() {
    Program program = original_;
    program.operations.erase(program.operations.begin() + at_);
    program.after.erase(program.after.begin() + at_);
    for (auto& after : program.after) std::erase(after, at_);
    renumber(program, [&](OpIndex index) { return index > at_ ? index - 1 : index; });
    report_both(Change::remove, program);
  }

  void duplicate() {
    Program program = original_;
    renumber(program, [&](OpIndex index) { return index > at_ ? index + 1 : index; });
    program.operations.insert(program.operations.begin() + at_, operation());
    const auto same = program.after[at_];
    program.after.insert(program.after.begin() + at_, same);
    report_both(Change::duplicate, program);
  }

  void drop_dependencies() {
    for (const OpIndex dependency : original_.after[at_]) {
      Program program = original_;
      std::erase(program.after[at_], dependency);
      report(Change::drop_dependency, After::renumbered, std::move(program));
    }
  }

  void swap_with_next() {
    Program program = original_;
    std::swap(program.operations[at_], program.operations[at_ + 1]);
    report(Change::swap_with_next, After::in_place, program);
    std::swap(program.after[at_], program.after[at_ + 1]);
    renumber(program, [&](OpIndex index) {
      return index == at_ ? at_ + 1 : index == at_ + 1 ? at_ : index;
    });
    report_both(Change::swap_with_next, program);
  }

  const Program& original_;
  const Visit& visit_;
  OpIndex at_ = 0;
};

}  // namespace

void each_mutant(const Program& original, const Visit& visit) { Mutator(original, visit).run(); }

std::string describe(const Program& original, const Mutant& mutant) {
  const std::string is = mutant.at < mutant.program.operations.size()
                             ? to_text(mutant.program.operations[mutant.at])
                             : "gone";
  return "rank " + std::to_string(original.me) + ", operation " + std::to_string(mutant.at) + " (" +
         to_text(original.operations[mutant.at]) + "), now " + is + ": " + name(mutant.change) +
         ", dependencies " + name(mutant.after) + '\n' + to_text(mutant.program);
}

void derive_dependencies(Program& program) {
  Scoreboard scoreboard;
  for (OpIndex i = 0; i < program.operations.size(); ++i) {
    program.after[i] = scoreboard.add(i, program.operations[i], program);
  }
}

}  // namespace latecomer::testing
