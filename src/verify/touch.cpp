#include "verify/touch.hpp"

#include <vector>

#include "base/threads.hpp"
#include "verify/ancestry.hpp"
#include "verify/interval_map.hpp"

namespace latecomer::verifier {
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
