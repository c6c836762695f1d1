#include "algorithms/nodes/lift.hpp"

#include "algorithms/registry.hpp"

namespace latecomer {
namespace {

/// Places slices of the nodes' program in the buffers of its driver.
class Places {
 public:
  Places(const Problem& problem, Rank node, const Vectors& vectors, const Slice& scratch)
      : input_(vectors.input.part(problem.input(node).begin, 0)),
        output_(vectors.output.part(problem.output(node).begin, 0)),
        scratch_(scratch) {}

  [[nodiscard]] Slice of(const Slice& slice) const {
    if (slice.empty()) return kNothing;
    const Slice& whole = slice.buffer == Buffer::input    ? input_
                         : slice.buffer == Buffer::output ? output_
                                                          : scratch_;
    return whole.part(slice.begin, slice.count);
  }

 private:
  Slice input_;  // from the first element on that the node holds
  Slice output_;
  Slice scratch_;
};

}  // namespace

Lifted lift(const Plan& inner, const Drivers& drivers, const Vectors& vectors,
            const std::vector<OpIndex>& stamps_known, Builder& builder) {
  const Rank node = drivers.nodes.node(builder.me());
  const Program program = build_program(inner, node);
  const Places places(inner.problem, node, vectors, builder.scratch(program.scratch_count));
  if (program.receiver_paced) builder.pace_by_receivers();
  Lifted lifted;
  std::vector<OpIndex> index_of(program.operations.size(), Builder::kNone);
  auto telling = program.piggybacking.begin();
  for (OpIndex i = 0; i < program.operations.size(); ++i) {
    Operation op = program.operations[i];
    if (op.kind == OpKind::arrive) continue;  // the awaits stand for it
    op.source = places.of(op.source);
    op.target = places.of(op.target);
    if (is_message(op)) op.peer = drivers.of(op.peer);
    builder.add_lifted(op);
    index_of[i] = builder.last();
    for (const OpIndex earlier : program.after[i]) {
      if (index_of[earlier] != Builder::kNone) builder.wait_also_for(index_of[earlier]);
    }
    if (telling == program.piggybacking.end() || *telling != i) continue;
    ++telling;
    builder.piggyback_last();
    if (op.kind == OpKind::send) builder.wait_also_for_all(stamps_known);
    if (op.kind == OpKind::recv) lifted.told.push_back(builder.last());
  }
  return lifted;
}

}  // namespace latecomer
