// The transport of one rank that is a SimGrid actor: messages through mailboxes, combining as sleep
// of gamma a byte, copies free but for those from and to the memory of a node, which take
// local_beta a byte. Its flags are shared by the node's ranks, since all actors run in one process,
// one at a time; another rank sees one local_alpha after it was raised. An eager message leaves
// when it is sent, a longer one when both sides have posted it; messages of one pair leave one
// after another, as on one connection. Control messages are separate from these: each is 8 bytes to
// a rank whose protocol uses them. Latency and shared links are the platform's and its model's.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "protocol/protocol.hpp"
#include "simulate/simulate.hpp"

namespace latecomer {

class SimGridTransport;

/// The flags of a node, and the load of its memory.
struct SimGridNode {
  struct Waiting {
    SimGridTransport* rank = nullptr;
    FlagUse use;
    Token token = 0;
  };
  struct Flag {
    Rank count = 0;
    bool held = false;  // a rank accumulates
    std::vector<Waiting> awaiting;
    std::deque<Waiting> accumulating;
  };
  [[nodiscard]] Flag& flag(std::int32_t index) {
    const auto at = static_cast<std::size_t>(index);
    if (flags.size() <= at) flags.resize(at + 1);
    return flags[at];
  }

  std::vector<Flag> flags;
  Seconds free = 0;  // when its memory can take more work
};

class SimGridTransport final : public Transport {
 public:
  static constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();

  /// `actors`: one a rank. `memory`: this rank's, or null. `node`: shared by the ranks of a node;
  /// null where programs have no flags. All and the options must outlive it.
  SimGridTransport(Rank me, const SimulationOptions& options,
                   const std::vector<simgrid::s4u::ActorPtr>& actors, Memory* memory,
                   SimGridNode* node = nullptr)
      : me_(me), options_(options), actors_(actors), memory_(memory), node_(node) {}

  /// Starts to deliver control messages. Called by the rank's actor, once.
  void receive_all_control();
  /// Blocks the calling actor until an operation is done or a control message is there, and
  /// delivers it. Returns false if the clock reached `until` before.
  bool wait(Protocol& protocol, Seconds until);

  void send(const Message& message, std::uint64_t plan_hash, Token token) override;
  void recv(const Message& message, Token token) override;
  void combine(const Slice& left, const Slice& right, Into into, Token token) override;
  void copy(const Slice& from, const Slice& to, Token token) override;
  void signal(const FlagUse& use, Token token) override;
  void await(const FlagUse& use, Token token) override;
  void accumulate(const FlagUse& use, bool waits, Token token) override;
  void send_control(Rank peer, ControlWords words) override;

 private:
  /// A message's content: SimGrid moves its address, and takes the time of the message.
  struct Envelope {
    std::uint64_t plan_hash = 0;
    Elements elements;  // only if there is memory
  };
  enum class Kind : std::uint8_t { send, receive, control };
  /// A message under way, or a control message to be received, as seen from this side.
  struct PendingMessage {
    Kind kind = Kind::send;
    Message message;  // of a control message its peer only
    Token token = 0;
    Envelope* envelope = nullptr;  // of a receive: set by SimGrid, ours from then on
    std::vector<std::uint64_t>* control = nullptr;  // set by SimGrid, its sender's
  };
  struct Outgoing {
    Message message;
    std::uint64_t plan_hash = 0;
    Token token = 0;
  };
  struct Local {
    Seconds end = 0;
    Slice left;
    Slice right;
    Into into = Into::right;
    bool is_copy = false;
    Token token = 0;
    std::int32_t flag = -1;  // of an accumulate
  };
  /// The end of an operation on a flag.
  struct Due {
    Seconds time = 0;
    Completion completion;
  };

  [[nodiscard]] Count bytes(const Message& message) const {
    return message.data.count * options_.element_bytes;
  }
  [[nodiscard]] bool is_eager(const Message& message) const {
    return !message.paced && bytes(message) <= options_.network.eager_limit;
  }
  [[nodiscard]] static simgrid::s4u::Mailbox* mailbox(Rank from, Rank to, const std::string& what);
  [[nodiscard]] simgrid::s4u::Mailbox* mailbox(Rank from, Rank to, const Message& message) const;
  [[nodiscard]] static simgrid::s4u::Mailbox* control_mailbox(Rank from, Rank to);
  void put(const Outgoing& outgoing);
  PendingMessage& add(const PendingMessage& pending);
  void receive_control(Rank from);
  [[nodiscard]] std::optional<std::size_t> wait_any(Seconds until);
  [[nodiscard]] std::optional<std::size_t> wait_any_or_bell(Seconds timeout);
  void finish(std::size_t index, Protocol& protocol);
  void put_next(Rank peer);
  [[nodiscard]] Completion receive(PendingMessage& pending);
  void work(Protocol& protocol);
  bool deliver(Seconds until, Protocol& protocol);
  void increase(std::int32_t flag);
  void begin_accumulate(const FlagUse& use, Token token);
  [[nodiscard]] Seconds local_time(Seconds each, const Slice& slice, bool shared) const;
  void complete_at(Seconds time, const Completion& completion);
  void ring();

  Rank me_;
  const SimulationOptions& options_;
  const std::vector<simgrid::s4u::ActorPtr>& actors_;
  Memory* memory_;
  SimGridNode* node_;
  std::map<Rank, std::deque<Outgoing>> leaving_;  // by peer; the first is under way
  // Parallel: the activities under way, as SimGrid wants them, and their descriptions.
  std::vector<simgrid::s4u::ActivityPtr> activities_;
  std::vector<std::unique_ptr<PendingMessage>> pending_;
  std::deque<std::vector<std::uint64_t>>
      control_sent_;  // words, which their receivers read in place
  std::optional<Local> local_;
  std::vector<Due> due_;        // by time
  simgrid::s4u::ExecPtr bell_;  // resumed by a mate that has changed `due_` or `local_`
  bool waits_ = false;          // this rank's actor
};

}  // namespace latecomer
