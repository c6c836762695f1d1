#include "runtime/connection/comm_resources.hpp"

namespace latecomer {

void CommResources::begin_call(const Plan& plan, const RankContext& context, Buffers buffers,
                               MPI_Op op, std::uint64_t call, Piggyback* piggyback) {
  NodeMemory* memory = nullptr;
  if (context.node_count > 0 || context.flags > 0) {
    const bool shared = !plan.placement.empty() && node != nullptr;
    if (!shared && own_node == nullptr) own_node = NodeMemory::alone(context.me, context.ranks);
    memory = shared ? node.get() : own_node.get();
    const std::size_t bytes = Buffers::node_bytes(buffers.layout(), context.node_count);
    buffers.share(memory->reserve(context.flags, bytes));
  }
  transport.begin(std::move(buffers), op, {call, context.plan_hash}, piggyback, memory);
}

}  // namespace latecomer
