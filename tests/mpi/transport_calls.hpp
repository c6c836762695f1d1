// Calls of plans on the transport alone, without the runtime.
#pragma once

#include <sched.h>

#include <memory>

#include "algorithms/plans.hpp"
#include "transports/mpi/transport.hpp"

namespace latecomer::testing {

/// One plan's calls, one after another.
class TransportCalls {
 public:
  TransportCalls(MpiTransport& transport, const Plan& plan, Rank me)
      : transport_(transport), executor_(make_executor(plan, me, plan.problem.count)) {}

  [[nodiscard]] const RankContext& context() const { return executor_->context(); }

  /// Elements are MPI_UINT64_T. Returns why it failed; empty: it did not.
  const std::string& operator()(std::uint64_t number, const void* input, void* output, MPI_Op op,
                                Piggyback* piggyback = nullptr, NodeMemory* node = nullptr) {
    Buffers buffers(Layout(MPI_UINT64_T), input, output, scratch_, context().scratch_count);
    if (node != nullptr) {
      const Count count = context().node_count;
      const std::size_t bytes = Buffers::node_bytes(buffers.layout(), count);
      buffers.share(node->reserve(context().flags, bytes));
    }
    transport_.begin(std::move(buffers), op, {number, context().plan_hash}, piggyback, node);
    if (!protocol_ || !protocol_->restart({}))
      protocol_ = executor_->create_protocol(transport_, {});
    protocol_->start();
    protocol_->arrive();
    while (protocol_->status() == Status::running) {
      if (!transport_.poll(*protocol_)) sched_yield();
    }
    scratch_.release();
    transport_.end_call();
    return protocol_->failure();
  }

 private:
  MpiTransport& transport_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Protocol> protocol_;
  Scratch scratch_;
};

}  // namespace latecomer::testing
