#include "verify/operations.hpp"

#include <algorithm>

#include "base/parse.hpp"
#include "base/threads.hpp"
#include "verify/interval_map.hpp"

namespace latecomer::verifier {

OpIndex Ancestry::first_unordered(std::vector<OpIndex> earlier, OpIndex index) {
  const auto seen = [&](OpIndex other) { return seen_by_[other] == index; };
  for (const OpIndex direct : program_.after[index]) seen_by_[direct] = index;
  std::erase_if(earlier, seen);
  if (earlier.empty()) return index;
  std::sort(earlier.begin(), earlier.end());
  search(index, earlier.front());
  const auto missed = std::find_if_not(earlier.begin(), earlier.end(), seen);
  return missed == earlier.end() ? index : *missed;
}

void Ancestry::search(OpIndex from, OpIndex lowest) {
  open_ = program_.after[from];
  while (!open_.empty()) {
    interruption_point();
    const OpIndex at = open_.back();
    open_.pop_back();
    for (const OpIndex next : program_.after[at]) {
      if (next < lowest || seen_by_[next] == from) continue;
      seen_by_[next] = from;
      open_.push_back(next);
    }
  }
}

namespace {

/// The first finding of a check that looks at one program at a time.
Finding first_finding(Programs programs, Finding (*check)(const Program&)) {
  for (const Program& program : programs) {
    interruption_point();
    if (Finding found = check(program)) return found;
  }
  return {};
}

std::string text(bool value) { return value ? "yes" : "no"; }
std::string text(Count value) { return std::to_string(value); }
std::string text(std::uint64_t hash) { return format_hex(hash, 16); }

/// Notes a field's value and the right one, in words, if they differ.
template <typename Value>
bool differs(std::string& wrong, const char* field, Value is, Value should) {
  if (is == should) return false;
  wrong = std::string(field) + " is " + text(is) + ", should be " + text(should);
  return true;
}

bool background(const RankContext& context) { return context.progress == Progress::background; }

/// The first field that does not fit the problem, or what all ranks share; empty: all fit.
std::string plan_difference(const Problem& problem, const RankContext& shared,
                            const Program& program, Rank rank) {
  std::string wrong;
  differs(wrong, "the plan hash", program.plan_hash, shared.plan_hash) ||
      differs<Count>(wrong, "its rank", program.me, rank) ||
      differs<Count>(wrong, "the number of ranks", program.ranks, problem.ranks) ||
      differs(wrong, "in-place", program.in_place, problem.in_place_at(rank)) ||
      differs(wrong, "commutative", program.commutative, problem.commutative) ||
      differs(wrong, "background progress", background(program), background(shared)) ||
      differs(wrong, "the input's size", program.input_count, problem.input(rank).count) ||
      differs(wrong, "the output's size", program.output_count, problem.output(rank).count);
  return wrong;
}

/// The fault of the sizes that a rank chooses itself, or shares with its node.
std::string size_fault(const Problem& problem, const Program& program) {
  if (program.scratch_count < 0) return "the scratch's size is negative";
  if (program.node < 0 || program.node >= program.ranks) return "its node is none of the nodes";
  if (program.node_count < 0) return "the size of the node's buffer is negative";
  if (problem.element_bytes > 0 && program.node_count > kMaxNodeBytes / problem.element_bytes) {
    return "the node's buffer is longer than " + quantity(kMaxNodeBytes, "byte");
  }
  return "";
}

/// The first field that is not as for the first rank of the node; empty: all are.
std::string node_difference(const Program& first, const Program& program) {
  std::string wrong;
  differs(wrong, "the size of the node's buffer", program.node_count, first.node_count) ||
      differs<Count>(wrong, "the number of the node's flags", program.flags, first.flags);
  return wrong;
}

/// No sum or difference can overflow.
bool inside(const Slice& slice, Count size) {
  return slice.begin >= 0 && slice.count > 0 && slice.count <= size - slice.begin;
}

std::string slice_fault(const Program& program, const Slice& slice) {
  const Count size = program.buffer_count(slice.buffer);
  if (inside(slice, size)) return "";
  return to_text(slice) + " is not a part, of at least one element, of a buffer of " +
         quantity(size, "element");
}

std::string peer_fault(const Program& program, Rank peer) {
  if (peer == program.me) return "a rank sends itself no messages";
  if (peer >= 0 && peer < program.ranks) return "";
  return "the peer is none of the ranks 0 to " + std::to_string(program.ranks - 1);
}

std::string message_fault(const Program& program, Rank peer, const Slice& slice) {
  std::string fault = peer_fault(program, peer);
  if (!fault.empty() || slice == kNothing) return fault;
  return slice_fault(program, slice);
}

std::string operands_fault(const Program& program, const Slice& one, const Slice& other) {
  for (const Slice& slice : {one, other}) {
    if (std::string fault = slice_fault(program, slice); !fault.empty()) return fault;
  }
  if (one.count != other.count) {
    return "the operands have " + std::to_string(one.count) + " and " +
           quantity(other.count, "element");
  }
  return one.overlaps(other) ? "the operands overlap" : "";
}

std::string flag_fault(const Program& program, std::int32_t flag) {
  if (flag >= 0 && flag < program.flags) return "";
  return "flag " + std::to_string(flag) + " is none of the node's " +
         quantity(program.flags, "flag");
}

/// A slice that an operation on a flag tells of, if any.
std::string told_fault(const Program& program, const Slice& slice) {
  if (slice == kNothing) return "";
  if (slice.buffer != Buffer::node) return to_text(slice) + " is not in the node's buffer";
  return slice_fault(program, slice);
}

std::string signal_fault(const Program& program, const Operation& op) {
  for (const Slice& slice : {op.source, op.target}) {
    if (std::string fault = told_fault(program, slice); !fault.empty()) return fault;
  }
  return flag_fault(program, op.flag);
}

std::string await_fault(const Program& program, const Operation& op) {
  if (op.count < 1) return "it waits for nothing";
  return signal_fault(program, op);
}

std::string accumulate_fault(const Program& program, const Operation& op) {
  if (std::string fault = flag_fault(program, op.flag); !fault.empty()) return fault;
  if (op.target.buffer != Buffer::node) {
    return to_text(op.target) + " is not in the node's buffer";
  }
  if (op.into == Into::left) return "it leaves its result in the node's buffer, the right operand";
  return operands_fault(program, op.source, op.target);
}

std::string operation_fault(const Program& program, const Operation& op) {
  switch (op.kind) {
    case OpKind::arrive:
      return "";
    case OpKind::send:
      return message_fault(program, op.peer, op.source);
    case OpKind::recv:
      return message_fault(program, op.peer, op.target);
    case OpKind::combine:
    case OpKind::copy:
      return operands_fault(program, op.source, op.target);
    case OpKind::signal:
      return signal_fault(program, op);
    case OpKind::await:
      return await_fault(program, op);
    case OpKind::accumulate:
      return accumulate_fault(program, op);
  }
  return "the kind of operation is unknown";
}

bool may_tell(const Operation& op) { return is_message(op) || has_flag(op); }

/// The operations that tell arrivals, in order.
std::string telling_fault(const Program& program) {
  OpIndex next = 0;
  for (const OpIndex index : program.piggybacking) {
    const std::string which = "operation " + std::to_string(index) + ", listed as telling, ";
    if (index >= program.operations.size() || !may_tell(program.operations[index])) {
      return which + "is no message and has no flag";
    }
    if (index < next) return which + "is listed after a later one, or twice";
    next = index + 1;
  }
  return "";
}

Finding bounds_of(const Program& program) {
  if (program.flags < 0 || program.flags > kMaxNodeFlags) {
    return Counterexample{"bounds", "rank " + std::to_string(program.me) + " uses " +
                                        quantity(program.flags, "flag") + ", should use 0 to " +
                                        std::to_string(kMaxNodeFlags)};
  }
  std::size_t arrivals = 0;
  for (OpIndex i = 0; i < program.operations.size(); ++i) {
    const std::string fault = operation_fault(program, program.operations[i]);
    if (!fault.empty()) return Counterexample{"bounds", place(program, i) + ": " + fault};
    if (program.operations[i].kind == OpKind::arrive) ++arrivals;
  }
  if (const std::string fault = telling_fault(program); !fault.empty()) {
    return Counterexample{"bounds", "rank " + std::to_string(program.me) + ": " + fault};
  }
  if (arrivals == 1) return {};
  return Counterexample{"bounds", "rank " + std::to_string(program.me) + " arrives " +
                                      std::to_string(arrivals) + " times, should once"};
}

Finding waits_of(const Program& program, OpIndex index) {
  const auto& after = program.after[index];
  if (program.operations[index].kind == OpKind::arrive && !after.empty()) {
    return Counterexample{"dependencies", place(program, index) + " waits for operation " +
                                              std::to_string(after.front()) +
                                              "; an arrival waits for nothing"};
  }
  for (const OpIndex earlier : after) {
    if (earlier < index) continue;
    return Counterexample{"dependencies", place(program, index) + " waits for operation " +
                                              std::to_string(earlier) + ", which is not earlier"};
  }
  return {};
}

Finding dependencies_of(const Program& program) {
  const std::size_t size = program.operations.size();
  if (program.after.size() != size) {
    return Counterexample{"dependencies", "rank " + std::to_string(program.me) + " has " +
                                              std::to_string(size) + " operations but lists of " +
                                              "dependencies for " +
                                              std::to_string(program.after.size())};
  }
  for (OpIndex i = 0; i < size; ++i) {
    if (Finding found = waits_of(program, i)) return found;
  }
  return {};
}

}  // namespace

Finding check_plan(const Problem& problem, Programs programs, const Plan* plan) {
  if (problem.ranks < 1 || programs.size() != static_cast<std::size_t>(problem.ranks)) {
    return Counterexample{"plan", quantity(static_cast<Count>(programs.size()), "program") +
                                      " for " + quantity(problem.ranks, "rank")};
  }
  std::vector<const Program*> first(programs.size());  // of each node
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    const Program& program = programs[rank];
    const auto me = static_cast<Rank>(rank);
    const RankContext shared =
        plan == nullptr ? static_cast<const RankContext&>(programs[0]) : context_of(*plan, me);
    std::string wrong = plan_difference(problem, shared, program, me);
    if (plan != nullptr && wrong.empty())
      differs<Count>(wrong, "its node", program.node, shared.node);
    if (wrong.empty()) wrong = size_fault(problem, program);
    if (wrong.empty()) {
      const Program*& mate = first[static_cast<std::size_t>(program.node)];
      if (mate == nullptr) mate = &program;
      wrong = node_difference(*mate, program);
    }
    if (!wrong.empty()) {
      return Counterexample{"plan", "program of rank " + std::to_string(rank) + ": " + wrong};
    }
  }
  return {};
}

Finding check_bounds(Programs programs) { return first_finding(programs, bounds_of); }
Finding check_dependencies(Programs programs) { return first_finding(programs, dependencies_of); }

namespace {

constexpr OpIndex kNobody = ~OpIndex{0};

/// The operations that touched an element last: the writer, and the readers since.
struct Touched {
  OpIndex writer = kNobody;
  std::vector<OpIndex> readers;
  bool operator==(const Touched&) const = default;
};

/// Sweeps over a program and names, for each operation, the earlier ones that it must wait for: the
/// last writer of the elements that it reads, the readers since then and else the last writer of
/// those that it writes. If each waits for these, any two operations in conflict are ordered
/// through a chain of such.
class Sweep {
 public:
  std::vector<OpIndex> add(OpIndex index, const Operation& op) {
    needed_.clear();
    const Accesses touched = accesses(op);
    for (const Slice& slice : touched.reads) read(slice, index);
    write(touched.write, index);
    return needed_;
  }

 private:
  IntervalMap<Touched>& of(Buffer buffer) { return buffers_[static_cast<int>(buffer)]; }
  static Range range(const Slice& slice) { return {slice.begin, slice.count}; }

  void need(OpIndex earlier, OpIndex index) {
    if (earlier != kNobody && earlier != index) needed_.push_back(earlier);
  }

  void read(const Slice& slice, OpIndex index) {
    of(slice.buffer).update(range(slice), [&](Range, Touched& touched) {
      need(touched.writer, index);
      touched.readers.push_back(index);
    });
  }

  void write(const Slice& slice, OpIndex index) {
    if (slice.empty()) return;
    of(slice.buffer).visit(range(slice), [&](Range, const Touched* touched) {
      if (touched == nullptr) return;
      need(touched->writer, index);
      for (const OpIndex reader : touched->readers) need(reader, index);
    });
    of(slice.buffer).assign(range(slice), {index, {}});
  }

  IntervalMap<Touched> buffers_[kBuffers];
  std::vector<OpIndex> needed_;
};

Finding hazard_of(const Program& program) {
  Sweep sweep;
  Ancestry ancestry(program);
  for (OpIndex i = 0; i < program.operations.size(); ++i) {
    interruption_point();
    const OpIndex other = ancestry.first_unordered(sweep.add(i, program.operations[i]), i);
    if (other == i) continue;
    return Counterexample{"hazard", place(program, i) + " does not wait for " +
                                        operation_text(program, other) +
                                        ", which touches the same elements"};
  }
  return {};
}

/// Before the arrival only scratch and the node's buffer may be touched.
bool leaves_user_data_alone(const Operation& op) {
  const Accesses touched = accesses(op);
  for (const Slice& slice : {touched.reads[0], touched.reads[1], touched.write}) {
    if (!slice.empty() && (slice.buffer == Buffer::input || slice.buffer == Buffer::output)) {
      return false;
    }
  }
  return true;
}

Finding arrival_of(const Program& program) {
  std::vector<bool> arrived(program.operations.size());
  for (OpIndex i = 0; i < program.operations.size(); ++i) {
    const Operation& op = program.operations[i];
    bool here = op.kind == OpKind::arrive;
    for (const OpIndex earlier : program.after[i]) here = here || arrived[earlier];
    arrived[i] = here;
    if (here || leaves_user_data_alone(op)) continue;
    return Counterexample{"arrival", place(program, i) +
                                         " touches input or output but does not wait for the "
                                         "arrival, neither directly nor through others"};
  }
  return {};
}

Finding read_only_of(const Program& program) {
  for (OpIndex i = 0; i < program.operations.size(); ++i) {
    const Slice written = accesses(program.operations[i]).write;
    if (written.empty() || written.buffer != Buffer::input) continue;
    return Counterexample{"read-only", place(program, i) + " writes " + to_text(written) +
                                           "; the input belongs to the caller"};
  }
  return {};
}

}  // namespace

Finding check_hazards(Programs programs) { return first_finding(programs, hazard_of); }
Finding check_arrival(Programs programs) { return first_finding(programs, arrival_of); }
Finding check_read_only(Programs programs) { return first_finding(programs, read_only_of); }

}  // namespace latecomer::verifier
