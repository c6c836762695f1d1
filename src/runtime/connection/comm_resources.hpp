// The resources that latecomer keeps for a communicator once it handles a call there: a
// communicator of its own beside the program's, the common clock, the transport and its memory.
#pragma once

#include <unistd.h>

#include <memory>
#include <utility>

#include "base/error.hpp"
#include "runtime/connection/block_exchange.hpp"
#include "runtime/connection/clocks/clocks.hpp"
#include "runtime/connection/failure_detector.hpp"
#include "runtime/connection/internal_comm.hpp"
#include "runtime/connection/introduction.hpp"
#include "runtime/connection/sleeping.hpp"
#include "transports/mpi/mailbox.hpp"
#include "transports/mpi/transport.hpp"
#include "transports/node/node_memory.hpp"

namespace latecomer {

struct CommResources {
  CommResources(std::unique_ptr<InternalComm> internal, const Introductions& all, Rank me,
                Count piece_limit)
      : comm(std::move(internal)),
        introduced(settings_of(all)),
        sleeping(sleeping_of_rank(is_oversubscribed(all, me, sysconf(_SC_NPROCESSORS_ONLN)))),
        device_memory(any_passes_device_memory(all)),
        hosts(all),
        clocks(group_clocks(clocks_of(all), me)),
        failures(comm->link()),
        transport(comm->link(), piece_limit),
        blocks(comm->link()),
        number(all.front().number),
        per_node(all[static_cast<std::size_t>(me)].per_node),
        placement(placement_of(all)) {}
  /// Keeps the MPI communicator, unfreed, where a message may be under way that no rank will
  /// receive: a later communicator with the same context would receive it.
  ~CommResources() {
    const bool checked = if_memory([this] { failures.check(); });
    const bool keeps = !checked || failures.used() || transport.control_used() || threads ||
                       blocks.leaves_messages();
    if (keeps) comm->keep();
    (void)abandon();
    if (keeps) (void)if_memory([this] { receive_leftovers_of(comm->link()); });
  }
  CommResources(const CommResources&) = delete;
  CommResources& operator=(const CommResources&) = delete;

  /// From now on the resources belong to another communicator, whose calls are numbered on from
  /// `position`.
  void go_on_after(std::uint64_t position) {
    earlier = calls;
    ++owner;
    failures.continue_after(position, calls);
  }
  /// Begins a call on the transport. `in_pieces`: long messages between nodes go so. Throws
  /// std::bad_alloc or std::system_error if there is no memory for it.
  void begin_call(const Plan& plan, const RankContext& context, Buffers buffers, MPI_Op op,
                  std::uint64_t call, bool in_pieces, Piggyback* piggyback) {
    if (!plan.placement.empty() && !shares_memory) {
      throw Error("plan", in_words(plan), "one without memory of nodes, which was not made");
    }
    NodeMemory* memory = nullptr;
    if (context.node_count > 0 || context.flags > 0) {
      if (node == nullptr) {
        throw Error("plan", in_words(plan), "one without flags on a rank alone on its node");
      }
      memory = node.get();
      const std::size_t bytes = Buffers::node_bytes(buffers.layout(), context.node_count);
      buffers.share(memory->reserve(context.flags, bytes));
    }
    transport.begin(std::move(buffers), op,
                    {call, context.plan_hash, in_pieces ? &placement : nullptr}, piggyback, memory);
  }
  /// A call is over: other calls may use its memory.
  void end_call() {
    scratch.release();
    transport.end_call();
  }
  /// The communicator of the program ends. If it `waits`, then for a moment at most, for ranks that
  /// have not told of their last block.
  void end_blocks(bool waits) {
    constexpr Seconds kAtMost = 2;
    blocks.end(owner, waits ? kAtMost : 0);
  }
  /// The call failed, or will not be finished. False: MPI may still use the call's memory.
  bool abandon() {
    const bool done = transport.abandon();
    if (!done) {
      scratch.abandon();
      if (node) node->abandon();
    }
    scratch.release();
    node.reset();
    return done;
  }

  std::unique_ptr<InternalComm> comm;
  SettingHashes introduced;  // as they were when the ranks introduced themselves
  Sleeping sleeping;         // of ranks that wait
  bool device_memory;        // a rank passes such memory: the MPI library executes all calls
  Hosts hosts;
  Clocks clocks;
  FailureDetector failures;
  Scratch scratch;
  MpiTransport transport;
  BlockExchange blocks;
  std::uint64_t number;       // the same on all ranks, and different for other resources of theirs
  std::uint64_t calls = 0;    // begun so far
  std::uint64_t earlier = 0;  // of them, on communicators that were freed
  std::uint64_t owner = 1;    // which of its communicators has it, the same on all ranks
  bool threads = false;       // progress threads have sent messages
  // The memory of nodes.
  std::uint64_t per_node;            // as this rank asked
  Placement placement;               // empty: no ranks share a node, or they cannot share memory
  bool shares_memory = false;        // it was made, on all ranks
  NodeRoom room;                     // in it, on all nodes
  std::unique_ptr<NodeMemory> node;  // null: not made, or this rank is alone on its node
};

}  // namespace latecomer
