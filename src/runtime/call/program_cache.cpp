#include "runtime/call/program_cache.hpp"

#include <algorithm>

#include "engine/engine.hpp"

namespace latecomer {
namespace {

Plan with(const Plan& plan, bool in_place) {
  Plan own = plan;
  own.problem.in_place = in_place;
  return own;
}

/// The memory of an executor: an operation, its index and its dependencies take about kOperation
/// bytes.
std::size_t bytes_of(const Executor& executor) {
  constexpr std::size_t kOperation = 200;
  const auto* const program = dynamic_cast<const ProgramExecutor*>(&executor);
  return program == nullptr ? kOperation : kOperation * program->program().operations.size();
}

/// `mine`: this rank's executor.
NodeNeed need_of(const Plan& plan, Rank me, const Executor& mine, Count eager) {
  const auto need = [](const Executor& of) {
    return NodeNeed{of.context().node_count, of.context().flags};
  };
  if (plan.placement.empty()) return {};
  const Nodes nodes(plan.placement, plan.problem.ranks);
  const auto is_fullest = [&](Rank node) { return nodes.size(node) == nodes.most(); };
  if (is_fullest(nodes.node(me))) return need(mine);
  Rank node = 0;
  while (!is_fullest(node)) ++node;
  return need(*make_executor(plan, nodes.ranks(node).front(), eager));
}

}  // namespace

Prepared::Prepared(std::shared_ptr<const Plan> made, bool in_place, Rank me, Count max_eager)
    : shared(std::move(made)),
      plan(with(*shared, in_place)),
      eager(max_eager),
      executor(make_executor(plan, me, eager)),
      need(need_of(plan, me, *executor, eager)),
      bytes(bytes_of(*executor)) {}

Protocol& Prepared::protocol(Transport& transport, const ProtocolOptions& options) const {
  if (!protocol_ || !protocol_->restart(options))
    protocol_ = executor->create_protocol(transport, options);
  return *protocol_;
}

Prepared& ProgramCache::get(const std::shared_ptr<const Plan>& plan, bool in_place, Rank me,
                            Count eager) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& each) {
    return (each->shared == plan || *each->shared == *plan) && each->eager == eager &&
           each->plan.problem.in_place == in_place;
  });
  if (found != entries_.end()) {
    std::rotate(found, found + 1, entries_.end());
    return *entries_.back();
  }
  auto made = std::make_unique<Prepared>(plan, in_place, me, eager);
  ++built_;
  std::size_t bytes = 0;
  for (const auto& each : entries_) bytes += each->bytes;
  while (!entries_.empty() && bytes + made->bytes > kMaxBytes) {
    bytes -= entries_.front()->bytes;
    entries_.erase(entries_.begin());
  }
  entries_.push_back(std::move(made));
  return *entries_.back();
}

}  // namespace latecomer
