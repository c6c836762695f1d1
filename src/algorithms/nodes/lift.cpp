#include "algorithms/nodes/lift.hpp"

#include <algorithm>

namespace latecomer {

std::vector<Count> first_ranks(const Nodes& nodes, const std::vector<Seconds>& arrivals) {
  std::vector<Count> first;
  for (Rank node = 0; node < nodes.count(); ++node) {
    const auto& ranks = nodes.ranks(node);
    const auto earlier = [&](Rank a, Rank b) {
      return !arrivals.empty() &&
             arrivals[static_cast<std::size_t>(a)] < arrivals[static_cast<std::size_t>(b)];
    };
    first.push_back(*std::min_element(ranks.begin(), ranks.end(), earlier));
  }
  return first;
}

std::vector<Seconds> arrivals_of_nodes(const Nodes& nodes, const std::vector<Seconds>& arrivals) {
  if (arrivals.empty()) return {};
  std::vector<Seconds> last(static_cast<std::size_t>(nodes.count()), arrivals.front());
  for (Rank node = 0; node < nodes.count(); ++node) {
    Seconds& of_node = last[static_cast<std::size_t>(node)];
    of_node = arrivals[static_cast<std::size_t>(nodes.ranks(node).front())];
    for (const Rank rank : nodes.ranks(node)) {
      of_node = std::max(of_node, arrivals[static_cast<std::size_t>(rank)]);
    }
  }
  return last;
}

Lifted lift(const Program& inner, const Drivers& drivers, const Slice& vector, OpIndex stamps_known,
            Builder& builder) {
  const Slice scratch = builder.scratch(inner.scratch_count);
  const auto mapped = [&](const Slice& slice) {
    if (slice.empty()) return kNothing;
    return (slice.buffer == Buffer::scratch ? scratch : vector).part(slice.begin, slice.count);
  };
  if (inner.receiver_paced) builder.pace_by_receivers();
  Lifted lifted;
  std::vector<OpIndex> index_of(inner.operations.size(), Builder::kNone);
  auto telling = inner.piggybacking.begin();
  for (OpIndex i = 0; i < inner.operations.size(); ++i) {
    Operation op = inner.operations[i];
    if (op.kind == OpKind::arrive) continue;  // the awaits stand for it
    op.source = mapped(op.source);
    op.target = mapped(op.target);
    if (is_message(op)) op.peer = drivers.of(op.peer);
    builder.add_lifted(op);
    index_of[i] = builder.last();
    for (const OpIndex earlier : inner.after[i]) {
      if (index_of[earlier] != Builder::kNone) builder.wait_also_for(index_of[earlier]);
    }
    if (telling == inner.piggybacking.end() || *telling != i) continue;
    ++telling;
    builder.piggyback_last();
    if (op.kind == OpKind::send) builder.wait_also_for(stamps_known);
    if (op.kind == OpKind::recv) lifted.told.push_back(builder.last());
  }
  return lifted;
}

}  // namespace latecomer
