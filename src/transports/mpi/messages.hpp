// The messages of a call: non-blocking point-to-point messages on a communicator used for nothing
// else. The first message of each pair and direction carries the sender's plan hash, and some
// messages carry piggyback data, in front of the elements, as one message (of a long one, its
// beginning). Messages of more elements than MPI's int can count are done in pieces. Long messages
// to one peer leave one after another: MPI would send them side by side, and all would be late.
#pragma once

#include <deque>
#include <vector>

#include "protocol/transport.hpp"
#include "schedule/placement.hpp"
#include "transports/mpi/buffers.hpp"
#include "transports/mpi/channels.hpp"
#include "transports/mpi/link.hpp"

namespace latecomer {

/// A call, equal on all ranks.
struct MpiCall {
  std::uint64_t number = 0;
  std::uint64_t plan_hash = 0;
  /// Where long messages between nodes go in pieces: the nodes; otherwise null.
  const Placement* nodes = nullptr;
};

class CallMessages {
 public:
  /// First messages are received into memory for the longest one of any plan. Receives that would
  /// take more than `staged_bytes` together are posted one after another, in program order. Appends
  /// a completion to `finished` for each message that is done.
  CallMessages(const Link& link, Count piece_limit, std::size_t staged_bytes,
               std::vector<Completion>& finished);

  /// Begins a call. The buffers outlive it; `piggyback` may be null.
  void begin(const Buffers& buffers, const MpiCall& call, Piggyback* piggyback);
  /// Leaves the memory of messages to the next call.
  void end_call() { staging_.end_call(); }
  /// Cancels all requests that can be cancelled. Returns false if MPI may still use the buffers.
  bool abandon();

  /// Sends or receives, perhaps later.
  void post(const Operation& message, Token token, PostOptions options);
  /// Notes what is done, of the messages that it looks at.
  void collect();
  /// Begins the messages whose turn has come.
  void begin_next();

  [[nodiscard]] bool none() const { return channels_.none() && receiving_.empty(); }
  /// The peers of the messages under way, some several times.
  [[nodiscard]] std::vector<Rank> peers() const;
  /// The number of posted receives into staging memory.
  [[nodiscard]] std::size_t staged_receives() const { return staged_receives_; }

 private:
  /// The messages of this call to and from one rank.
  struct PeerState {
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
    Count leaving = 0;  // bytes of the sends under way
    PendingMessage* first_waiting = nullptr;
    PendingMessage* last_waiting = nullptr;
  };

  void send(PendingMessage& pending);
  void receive(PendingMessage& pending);
  PendingMessage& add(const Operation& message, Token token, PostOptions options);
  [[nodiscard]] PeerState& peer_of(const PendingMessage& pending) {
    return peers_[static_cast<std::size_t>(pending.peer)];
  }
  [[nodiscard]] Count bytes(const PendingMessage& pending) const {
    return pending.data.count * buffers_->layout().size;
  }
  [[nodiscard]] bool may_leave(const PeerState& peer, const PendingMessage& pending) const;
  void leave(PendingMessage& pending);
  void leave_next();
  [[nodiscard]] bool may_receive(const PendingMessage& pending) const;
  void receive_next();
  [[nodiscard]] static bool later(const PendingMessage* a, const PendingMessage* b) {
    return a->token > b->token;
  }
  void start(PendingMessage& pending);
  [[nodiscard]] static bool is_staged(const PendingMessage& pending) {
    return pending.options.first || pending.options.piggybacks;
  }
  void stage(PendingMessage& pending);
  void reserve(PendingMessage& pending, std::size_t bytes);
  void post_staged(PendingMessage& pending);
  [[nodiscard]] Count piece_of(const PendingMessage& pending) const;
  void post_pieces(PendingMessage& pending);
  MPI_Request issue(PendingMessage& pending, void* address, int count, MPI_Datatype type, int tag);
  void unstage(PendingMessage& pending, int bytes);

  void settle(const Channels::Piece& piece, const MPI_Status& status, int code);
  void finish(PendingMessage& pending);
  [[nodiscard]] std::size_t max_piggybacked() const {
    return Piggyback::kMaxBytesPerRank * peers_.size();
  }

  Link link_;
  Count piece_limit_;
  std::size_t staged_bytes_;
  Tags tags_;
  Staging staging_;
  std::vector<Completion>& finished_;
  const Buffers* buffers_ = nullptr;
  MpiCall call_;
  Piggyback* piggyback_ = nullptr;

  Channels channels_;
  std::vector<PeerState> peers_;
  std::vector<Rank> relieved_;           // peers to which a send ended
  std::deque<PendingMessage> messages_;  // their addresses stay
  std::vector<PendingMessage*> free_;
  std::vector<PendingMessage*>
      receiving_;  // staged receives that are not posted yet: a heap by token
  std::size_t staged_receives_ = 0;
  std::size_t max_staged_receives_ = 1;
  std::size_t room_ = 0;   // bytes of a staged receive
  Token last_staged_ = 0;  // the last one of the program that was posted
  std::vector<char> piggybacked_;
};

}  // namespace latecomer
