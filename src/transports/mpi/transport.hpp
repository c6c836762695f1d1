// The transport over MPI: non-blocking point-to-point messages on a communicator used for nothing
// else. The first message of each pair and direction carries the sender's plan hash, and some
// messages carry piggyback data, in front of the elements, as one message (of a long one, its
// beginning).
// Messages and combines of more elements than MPI's int can count are done in pieces. Long messages
// to one peer leave one after another: MPI would send them side by side, and all would be late.
//
// In calls on nodes, operations that are posted while a rank of the node is in the call before
// begin when it has left that.
//
// Calls after the first of their kind allocate no memory, and make no MPI calls but those that
// move data.
#pragma once

#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "protocol/piggyback.hpp"
#include "protocol/protocol.hpp"
#include "schedule/placement.hpp"
#include "transports/mpi/control_channel.hpp"
#include "transports/mpi/local.hpp"
#include "transports/mpi/node_flags.hpp"
#include "transports/mpi/open_requests.hpp"
#include "transports/mpi/staging.hpp"
#include "transports/mpi/tags.hpp"
#include "transports/node/node_memory.hpp"

namespace latecomer {

class MpiTransport final : public Transport {
 public:
  static constexpr Count kLargestPiece = std::numeric_limits<int>::max();
  /// First messages are received into memory for the longest one of any plan. Receives that would
  /// take more than this many bytes together are posted one after another, in program order.
  static constexpr std::size_t kStagedBytes = std::size_t{4} << 20;

  /// The link's communicator outlives the transport.
  explicit MpiTransport(Link link, Count piece_limit = kLargestPiece,
                        std::size_t staged_bytes = kStagedBytes);
  ~MpiTransport() override { (void)abandon(); }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  /// A call, equal on all ranks.
  struct Call {
    std::uint64_t number;
    std::uint64_t plan_hash;
    /// Where long messages between nodes go in pieces: the nodes; otherwise null.
    const Placement* nodes = nullptr;
  };
  /// Begins a call; the one before must be finished or abandoned. `piggyback` may be null; `node`:
  /// the memory of this rank's node, if the call's program uses it; all its ranks begin the call.
  void begin(Buffers buffers, MPI_Op op, const Call& call, Piggyback* piggyback = nullptr,
             NodeMemory* node = nullptr);
  /// Sets the input and output when this rank arrives in a call that began without them: until then
  /// only scratch is touched.
  void bind(const void* input, void* output) { buffers_->bind(input, output); }
  /// Delivers completions and control messages. Returns false if there were none.
  bool poll(Protocol& protocol);
  /// True if the call waits for flags of the node and nothing else: MPI need not be polled.
  [[nodiscard]] bool awaits_flags_alone() const;
  /// Sleeps for so many seconds, or until a flag that is waited for wakes this rank.
  void sleep(Seconds at_most);
  /// After a failure: cancels all requests that can be cancelled, so that no receive writes to the
  /// user's buffers later. Returns false if MPI may still use the buffers, so that scratch must not
  /// be used again.
  bool abandon();

  void send(const Message& message, std::uint64_t plan_hash, Token token) override;
  void recv(const Message& message, Token token) override;
  void combine(const Slice& left, const Slice& right, Into into, Token token) override;
  void copy(const Slice& from, const Slice& to, Token token) override;
  void signal(const FlagUse& use, Token token) override;
  void await(const FlagUse& use, Token token) override;
  void accumulate(const FlagUse& use, bool waits, Token token) override;
  void send_control(Rank peer, ControlWords words) override { control_.send(peer, words); }

  /// True if a protocol used control messages: some may never be received, so the communicator's
  /// context must not be used for anything but further calls.
  [[nodiscard]] bool control_used() const { return control_.used(); }
  /// Ends a call that succeeded: memory for its messages is left to the next one, and the memory of
  /// the node to the next call of all its ranks.
  void end_call();
  /// The number of posted receives into staging memory.
  [[nodiscard]] std::size_t staged_receives() const { return staged_receives_; }

  /// The ranks of the node that have not entered the call, if it is waited for something there.
  [[nodiscard]] std::vector<Rank> missing_mates() const;
  /// The peers of the messages under way, and the missing mates, ascending.
  [[nodiscard]] std::vector<Rank> awaited() const;
  /// MPI's code of the completion that the protocol failed at; MPI_SUCCESS if no completion failed.
  [[nodiscard]] int error() const { return error_; }

 private:
  enum class Direction : std::uint8_t { send, recv };
  /// A message under way; it may consist of several pieces.
  struct PendingMessage {
    Token token = 0;
    Rank peer = -1;
    std::uint32_t open = 0;  // pieces under way
    Count posted = 0;        // elements whose pieces were posted
    int error = MPI_SUCCESS;
    std::uint64_t hash = 0;  // the peer's, of a first message received
    Direction direction = Direction::send;
    bool first = false;
    bool piggybacks = false;
    bool paced = false;
    bool wrong_size = false;
    Slice data;
    std::uint32_t number = 0;        // among the messages of its pair and direction
    std::uint64_t plan_hash = 0;     // to send with a first message
    PendingMessage* next = nullptr;  // to the same peer, waiting to leave after this one
    // Memory of a first or piggybacking message, for its head, the piggyback data, and the elements
    // sent with them.
    Staging::Block staged;
    int staged_bytes = 0;
    int staged_count = 0;  // of those elements
  };
  /// One MPI request and the bytes that it should have moved.
  struct Piece {
    MPI_Request request;
    PendingMessage* pending;
    MPI_Datatype type;
    int count;
    bool staged = false;
    Piece* next = nullptr;  // of the same channel
  };
  /// The pieces under way to or from one rank, in the order of their messages.
  struct Channel {
    Piece* first = nullptr;
    Piece* last = nullptr;
  };
  /// The messages of this call to and from one rank.
  struct PeerState {
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
    Count leaving = 0;  // bytes of the sends under way
    PendingMessage* first_waiting = nullptr;
    PendingMessage* last_waiting = nullptr;
    Channel channels[2];  // by direction
  };
  struct Local {
    OpKind kind;
    Slice left, right;
    Into into;
    Token token;
    FlagUse use = {};    // accumulate
    bool waits = false;  // likewise
  };
  /// An operation that was posted before the node's memory could be used.
  struct Held {
    OpKind kind;
    Token token;
    Message message = {};
    std::uint64_t plan_hash = 0;
    Local local = {};
    FlagUse use = {};
  };

  PendingMessage& add_message(Token token, Direction direction, const Message& message);
  [[nodiscard]] PeerState& peer_of(const PendingMessage& pending) {
    return peers_[static_cast<std::size_t>(pending.peer)];
  }
  [[nodiscard]] Count bytes(const PendingMessage& pending) const {
    return pending.data.count * buffers_->layout().size;
  }
  [[nodiscard]] Channel& channel_of(const PendingMessage& pending) {
    return peer_of(pending).channels[static_cast<int>(pending.direction)];
  }
  [[nodiscard]] bool may_leave(const PeerState& peer, const PendingMessage& pending) const;
  void leave(PendingMessage& pending);
  void leave_next();
  [[nodiscard]] bool may_receive(const PendingMessage& pending) const;
  void receive_next();
  [[nodiscard]] static bool later(const PendingMessage* a, const PendingMessage* b) {
    return a->token > b->token;
  }
  void post(PendingMessage& pending);
  [[nodiscard]] static bool is_staged(const PendingMessage& pending) {
    return pending.first || pending.piggybacks;
  }
  void stage(PendingMessage& pending);
  void reserve(PendingMessage& pending, std::size_t bytes);
  void post_staged(PendingMessage& pending);
  [[nodiscard]] Count piece_of(const PendingMessage& pending) const;
  void post_pieces(PendingMessage& pending);
  MPI_Request start(PendingMessage& pending, void* address, int count, MPI_Datatype type, int tag);
  void add_piece(const Piece& piece);
  void unstage(PendingMessage& pending, int bytes);

  void collect();
  void collect_more(Channel& channel);
  void take_first(Channel& channel, const MPI_Status& status, int code);
  void forget_messages();
  void settle(const Piece& piece, const MPI_Status& status, int code);
  void finish(PendingMessage& pending);
  bool deliver(Protocol& protocol);
  bool receive_control(Protocol& protocol);
  bool work();
  [[nodiscard]] std::optional<Completion> accumulate(const Local& task);
  bool hold(Held held);
  void begin_held();
  void look_for_stranger();
  [[nodiscard]] bool waits_for_mates() const;
  [[nodiscard]] std::size_t max_piggybacked() const {
    return Piggyback::kMaxBytesPerRank * peers_.size();
  }

  Link link_;
  Count piece_limit_;
  std::size_t staged_bytes_;
  Tags tags_;
  Staging staging_;
  LocalWork local_work_;
  ControlChannel control_;
  std::optional<Buffers> buffers_;
  MPI_Op op_ = MPI_OP_NULL;
  Call call_{};
  Piggyback* piggyback_ = nullptr;
  int error_ = MPI_SUCCESS;

  std::vector<PeerState> peers_;
  std::vector<Rank> relieved_;           // peers to which a send ended
  std::deque<PendingMessage> messages_;  // their addresses stay
  std::vector<PendingMessage*> free_;
  std::deque<Piece> pieces_;  // likewise
  Piece* free_pieces_ = nullptr;
  std::vector<Channel*> open_;  // those with pieces under way
  std::size_t next_open_ = 0;   // the next one to test
  OpenRequests first_requests_;
  std::vector<PendingMessage*>
      receiving_;  // staged receives that are not posted yet: a heap by token
  std::size_t staged_receives_ = 0;
  std::size_t max_staged_receives_ = 1;
  std::size_t room_ = 0;   // bytes of a staged receive
  Token last_staged_ = 0;  // the last one of the program that was posted
  std::vector<char> piggybacked_;
  std::vector<Completion> finished_, delivering_;
  std::optional<Local> local_;

  NodeFlags flags_;         // used if the call has memory of the node
  bool held_back_ = false;  // a rank of the node is in the call before
  std::vector<Held> held_;
  unsigned looks_ = 0;  // at flags that had not counted so far, since one had
};

}  // namespace latecomer
