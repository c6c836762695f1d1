// The transport over MPI: messages, local work and the flags of a node's memory.
//
// In calls on nodes, operations that are posted while a rank of the node is in the call before
// begin when it has left that.
//
// Calls after the first of their kind allocate no memory, and make no MPI calls but those that
// move data.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "protocol/protocol.hpp"
#include "transports/mpi/buffers.hpp"
#include "transports/mpi/mailbox.hpp"
#include "transports/mpi/messages.hpp"
#include "transports/mpi/node_flags.hpp"
#include "transports/node/node_memory.hpp"

namespace latecomer {

class MpiTransport final : public Transport {
 public:
  static constexpr Count kLargestPiece = std::numeric_limits<int>::max();
  /// Bytes of first messages that are received at the same time (messages.hpp).
  static constexpr std::size_t kStagedBytes = std::size_t{4} << 20;

  /// The link's communicator outlives the transport.
  explicit MpiTransport(const Link& link, Count piece_limit = kLargestPiece,
                        std::size_t staged_bytes = kStagedBytes);
  ~MpiTransport() override { (void)abandon(); }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  using Call = MpiCall;
  /// Begins a call; the one before must be finished or abandoned. `piggyback` may be null; `node`:
  /// the memory of this rank's node, if the call's program uses it; all its ranks begin the call.
  void begin(Buffers buffers, MPI_Op op, const Call& call, Piggyback* piggyback = nullptr,
             NodeMemory* node = nullptr);
  /// Sets the input and output when this rank arrives in a call that began without them: until then
  /// only scratch is touched.
  void bind(const void* input, void* output) { buffers_.bind(input, output); }
  /// Delivers completions and control messages. Returns false if there were none.
  bool poll(Protocol& protocol);
  /// True if of all operations only flags of the node are awaited.
  [[nodiscard]] bool awaits_flags_alone() const;
  /// True if no message is awaited either: MPI need not be polled.
  [[nodiscard]] bool may_sleep_on_flags() const;
  /// Sleeps for so many seconds, or until a flag that is waited for wakes this rank.
  void sleep(Seconds at_most);
  /// After a failure: cancels all requests that can be cancelled, so that no receive writes to the
  /// user's buffers later. Returns false if MPI may still use the buffers, so that scratch must not
  /// be used again.
  bool abandon();

  void post(const Operation& operation, Token token, PostOptions options) override;
  void send_control(Rank peer, ControlWords words) override { control_.send(peer, words); }

  /// True if a protocol used control messages: some may never be received, so the communicator's
  /// context must not be used for anything but further calls.
  [[nodiscard]] bool control_used() const { return control_.used(); }
  /// Ends a call that succeeded: memory for its messages is left to the next one, and the memory of
  /// the node to the next call of all its ranks.
  void end_call();
  /// The number of posted receives into staging memory.
  [[nodiscard]] std::size_t staged_receives() const { return messages_.staged_receives(); }

  /// The ranks of the node that have not entered the call, if it is waited for something there.
  [[nodiscard]] std::vector<Rank> missing_mates() const;
  /// The others of the node that have entered and not left it, likewise.
  [[nodiscard]] std::vector<Rank> mates_inside() const;
  /// The peers of the messages under way, and the missing mates, ascending.
  [[nodiscard]] std::vector<Rank> awaited() const;
  /// MPI's code of the completion that the protocol failed at; MPI_SUCCESS if no completion failed.
  [[nodiscard]] int error() const { return error_; }

 private:
  bool deliver(Protocol& protocol);
  bool receive_control(Protocol& protocol);
  bool work();
  [[nodiscard]] std::optional<Completion> accumulate(const Posted& task);
  void begin_held();
  void look_for_stranger();
  [[nodiscard]] bool waits_for_mates() const;

  std::vector<Completion> finished_, delivering_;
  CallMessages messages_;
  LocalWork local_work_;
  ControlChannel control_;
  Buffers buffers_;
  MPI_Op op_ = MPI_OP_NULL;
  int error_ = MPI_SUCCESS;
  std::optional<Posted> local_;

  NodeFlags flags_;           // used if the call has memory of the node
  bool controlled_ = false;   // the protocol receives control messages
  bool held_back_ = false;    // a rank of the node is in the call before
  std::vector<Posted> held_;  // until then
  unsigned looks_ = 0;        // at flags that had not counted so far, since one had
};

}  // namespace latecomer
