#include "engine/index.hpp"

#include <map>
#include <numeric>
#include <utility>

namespace latecomer {

ProgramIndex::ProgramIndex(const Program& program, Count eager)
    : program_(program), eager_(program.receiver_paced && eager != kNothingLong ? 0 : eager) {
  index_dependents();
  index_messages();
  if (!program.piggybacking.empty()) piggybacks_.resize(size());
  for (const OpIndex piggybacking : program.piggybacking) piggybacks_[piggybacking] = true;
}

/// The reverse of Program::after in one array: a list for each operation would take most of the
/// memory of large simulations.
void ProgramIndex::index_dependents() {
  const std::size_t size = program_.operations.size();
  waits_.resize(size);
  dependents_begin_.assign(size + 1, 0);
  for (const auto& earlier : program_.after) {
    for (const OpIndex index : earlier) ++dependents_begin_[index + 1];
  }
  std::partial_sum(dependents_begin_.begin(), dependents_begin_.end(), dependents_begin_.begin());
  dependents_.resize(dependents_begin_.back());
  std::vector<std::size_t> next(dependents_begin_.begin(), dependents_begin_.end() - 1);
  for (OpIndex i = 0; i < size; ++i) {
    waits_[i] = static_cast<std::uint32_t>(program_.after[i].size());
    for (const OpIndex earlier : program_.after[i]) dependents_[next[earlier]++] = i;
  }
}

void ProgramIndex::index_messages() {
  channel_of_.resize(size());
  turn_.resize(size());
  std::map<std::pair<OpKind, Rank>, std::uint32_t> known;
  for (OpIndex i = 0; i < size(); ++i) {
    const Operation& op = operation(i);
    if (op.kind == OpKind::arrive) arrivals_.push_back(i);
    if (op.kind == OpKind::signal || op.kind == OpKind::await) ++flags_;
    if (op.kind == OpKind::accumulate) ++accumulates_;
    if (op.kind == OpKind::combine || op.kind == OpKind::copy || op.kind == OpKind::accumulate) {
      ++locals_;
    }
    if (!is_message(op)) continue;
    const auto next = static_cast<std::uint32_t>(channels_.size());
    const auto [entry, added] = known.try_emplace({op.kind, op.peer}, next);
    if (added) channels_.push_back({op.peer, {}});
    channel_of_[i] = entry->second;
    channels_[entry->second].operations.push_back(i);
    if (!is_long(op)) continue;
    const bool same = !long_.empty() && operation(long_.back()).peer == op.peer;
    turn_[i] = long_.empty() ? 0 : turn_[long_.back()] + (same ? 0 : 1);
    long_.push_back(i);
  }
}

}  // namespace latecomer
