#include "runtime/connection/comm_resources.hpp"

#include "base/error.hpp"

namespace latecomer {

void CommResources::begin_call(const Plan& plan, const RankContext& context, Buffers buffers,
                               MPI_Op op, std::uint64_t call, bool in_pieces,
                               Piggyback* piggyback) {
  if (!plan.placement.empty() && !shares_memory) {
    throw Error("plan", in_words(plan), "one without memory of nodes, which was not made");
  }
  NodeMemory* memory = nullptr;
  if (context.node_count > 0 || context.flags > 0) {
    const bool shared = !plan.placement.empty() && node != nullptr;
    if (!shared && own_node == nullptr) own_node = NodeMemory::alone(context.me, context.ranks);
    memory = shared ? node.get() : own_node.get();
    const std::size_t bytes = Buffers::node_bytes(buffers.layout(), context.node_count);
    buffers.share(memory->reserve(context.flags, bytes));
  }
  transport.begin(std::move(buffers), op,
                  {call, context.plan_hash, in_pieces ? &placement : nullptr}, piggyback, memory);
}

}  // namespace latecomer
