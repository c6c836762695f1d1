// Virtual time: an event queue, and the links that transfers occupy.
#pragma once

#include <deque>
#include <limits>
#include <queue>
#include <unordered_map>
#include <vector>

#include "protocol/protocol.hpp"
#include "simulate/loads.hpp"
#include "simulate/simulation.hpp"

namespace latecomer {

class VirtualNetwork {
 public:
  /// `nodes`: the node of each rank, with which it shares memory.
  VirtualNetwork(const SimulationOptions& options, const Placement& nodes);

  /// The transport of one rank; the protocol that uses it is attached afterwards.
  [[nodiscard]] Transport& transport(Rank rank) {
    return transports_[static_cast<std::size_t>(rank)];
  }
  /// `plan_hash`: of the plan that the protocol follows.
  void attach(Rank rank, Protocol& protocol, std::uint64_t plan_hash);
  /// Runs the simulation to its last event and notes exits in `result`. Throws Error for times that
  /// the clock cannot count.
  void run(Simulation& result);

 private:
  using MessageId = std::size_t;
  static constexpr MessageId kNoMessage = std::numeric_limits<MessageId>::max();

  struct Channel;
  /// A message from its first posting, by either side, to its last completion.
  struct PendingMessage {
    Channel* channel = nullptr;
    MessageId next = kNoMessage;  // in its channel's queue
    Rank from = 0;
    Rank to = 0;
    Slice source;
    Slice target;
    std::uint64_t number = 0;  // of this pair and direction
    Token send_token = 0;
    Token recv_token = 0;
    bool send_posted = false;
    bool recv_posted = false;
    bool landed = false;
    bool buffered = false;  // so its send is over before it has left
    bool paced = false;
    std::vector<std::uint64_t> control;  // the words of a control message; otherwise empty
    Elements payload;
    std::vector<char> piggybacked;  // data that travel along
    std::size_t trace = 0;          // its place in the trace, if there is one
  };
  /// First come, first served: a list through the messages, since there are many channels.
  struct Queue {
    MessageId first = kNoMessage;
    MessageId last = kNoMessage;
    [[nodiscard]] bool empty() const { return first == kNoMessage; }
  };
  /// The messages of one pair and direction. They follow each other, however many ports there are.
  struct Channel {
    std::uint64_t sends = 0;
    std::uint64_t receives = 0;
    Queue open;     // posted by one side only
    Queue control;  // control messages not delivered yet, in the order of sending
    bool leaving = false;
    Count buffered = 0;    // bytes of messages that have not left
    Count rendezvous = 0;  // messages that wait for their port or are leaving
  };
  /// The transport of one rank.
  class RankTransport final : public Transport {
   public:
    RankTransport(VirtualNetwork& network, Rank rank) : network_(network), rank_(rank) {}
    void post(const Operation& operation, Token token, PostOptions options) override {
      network_.post(rank_, {operation, token, options});
    }
    void send_control(Rank peer, ControlWords words) override {
      network_.send_control(rank_, peer, words);
    }

   private:
    VirtualNetwork& network_;
    Rank rank_;
  };
  /// One end of a link: a node's, or a rank's own within its node. A leaving message occupies it
  /// for the time of the transfer, and so does an arriving one at the other end: at once where that
  /// is free, otherwise after the messages that were sent there before, waiting in the network in
  /// between.
  struct Port {
    Count leaving = 0;              // at most Network::ports
    std::deque<MessageId> waiting;  // to leave: first come, first served
    std::vector<Ticks> free;        // when each of Network::ports can take in the next message
    TokenBucket out;
    TokenBucket in;
  };
  enum class EventKind : std::uint8_t {
    arrive,
    eligible,
    sent,
    left,
    landed,
    local_done,
    memory,
    received,
    flag
  };
  struct Event {
    Ticks time = 0;
    std::uint64_t number = 0;
    EventKind kind = EventKind::arrive;
    Rank rank = 0;
    std::size_t id = 0;  // of a message, a token, or a change of a memory's load

    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };

  // An event of a flag: the token, and whether piggyback data are taken or an accumulate was
  // refused.
  static constexpr std::size_t kTakes = 1;
  static constexpr std::size_t kBusy = 2;
  [[nodiscard]] static std::size_t flag_event(Token token, std::size_t bits) {
    return std::size_t{token} << 2 | bits;
  }

  void begin_links();
  void keep_links() const;
  void post(Rank rank, const Posted& posted);
  void send(Rank rank, const Posted& posted);
  void receive(Rank rank, const Posted& posted);
  void send_control(Rank rank, Rank peer, ControlWords words);
  void schedule(Ticks time, EventKind kind, Rank rank, std::size_t id);
  void handle(const Event& event);
  [[nodiscard]] std::uint64_t pair_number(Rank from, Rank to) const;
  MessageId new_message(Rank from, Rank to);
  void push(Queue& queue, MessageId id);
  MessageId pop(Queue& queue);
  /// Returns the next message of the pair, as counted by its sender or its receiver.
  MessageId match(Rank from, Rank to, bool sending);
  [[nodiscard]] bool eager(const PendingMessage& message) const;
  void ready(MessageId id, bool by_sender);
  void buffer(PendingMessage& message);
  void read_payload(PendingMessage& message) const;
  void enqueue(MessageId id);
  void start_transfers();
  void start_from(Port& port);
  void start(MessageId id);
  void leave(MessageId id);
  void land(MessageId id);
  void deliver(MessageId id);
  void deliver_control(Channel& channel);
  [[nodiscard]] Ticks duration(const PendingMessage& message);
  [[nodiscard]] Seconds on_link(const PendingMessage& message, Count bytes);
  [[nodiscard]] bool exchanges(const PendingMessage& message);
  void trace(PendingMessage& message, Ticks end);
  void begin_local(Rank rank, const Posted& posted, bool copies);
  void trace_local(Rank rank, Token token);
  void run_local(Rank rank, Token token);
  void schedule_memory(Rank rank);
  void end_memory_work(Rank rank, std::uint64_t change);
  void complete(Rank rank, const Completion& completion);
  void note_exit(Rank rank);
  [[nodiscard]] Protocol& protocol(Rank rank) {
    return *protocols_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] Rank link(Rank rank) const {
    return links_.empty() ? options_.network.node(rank) : links_[static_cast<std::size_t>(rank)];
  }
  /// The port of `rank` for messages from or to `peer`.
  [[nodiscard]] std::size_t port(Rank rank, Rank peer) const;

  const SimulationOptions& options_;
  Rank ranks_;
  Placement nodes_;       // by memory
  Placement links_;       // by link; empty: Network::per_node
  Rank nodes_count_ = 0;  // of links
  Ticks now_ = 0;
  std::uint64_t events_ = 0;
  std::deque<RankTransport> transports_;
  std::vector<Protocol*> protocols_;
  std::vector<std::uint64_t> plan_hashes_;  // by rank
  std::vector<Port> ports_;                 // of the nodes, then of the ranks
  std::vector<std::size_t> changed_;        // ports that may have a message to send
  std::unordered_map<std::uint64_t, Channel> channels_;
  std::vector<PendingMessage> messages_;
  std::vector<MessageId> free_messages_;
  struct Local {
    Posted posted;
    bool copies = false;    // also the first of the accumulates on a flag
    std::size_t trace = 0;  // its place in the trace, if there is one
  };
  /// A flag of a node.
  struct Flag {
    struct Waiting {
      Rank rank = 0;
      Posted posted;
    };
    Rank count = 0;
    bool held = false;                 // by a rank that accumulates
    std::vector<Waiting> awaiting;     // in awaits
    std::deque<Waiting> accumulating;  // next, by waiting for it
  };
  /// The memory that the ranks of a node share.
  struct SharedMemory {
    std::vector<Flag> flags;
    MemoryLoad load;
    std::vector<std::pair<Rank, std::vector<char>>> piggybacked;
  };

  [[nodiscard]] SharedMemory& shared_memory(Rank rank) {
    return shared_[static_cast<std::size_t>(nodes_[static_cast<std::size_t>(rank)])];
  }
  [[nodiscard]] Flag& flag(Rank rank, std::int32_t index);
  void increase(Rank rank, std::int32_t index, bool piggybacks);
  void await(Rank rank, const Posted& posted);
  void accumulate(Rank rank, const Posted& posted);
  void begin_accumulate(Rank rank, const Posted& posted);
  void end_accumulate(Rank rank, const Posted& posted);
  void take_piggybacked(Rank rank);

  std::vector<SharedMemory> shared_;  // of each node
  std::vector<Local> locals_;         // each rank's only one under way
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_of_events_;
  Simulation* result_ = nullptr;
};

}  // namespace latecomer
