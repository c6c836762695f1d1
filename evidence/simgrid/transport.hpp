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
    Posted posted;
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

  /// `plan_hash`: of the call's plan. `actors`: one a rank. `memory`: this rank's, or null. `node`:
  /// shared by the ranks of a node; null where programs have no flags. All and the options must
  /// outlive it.
  SimGridTransport(Rank me, std::uint64_t plan_hash, const SimulationOptions& options,
                   const std::vector<simgrid::s4u::ActorPtr>& actors, Memory* memory,
                   SimGridNode* node)
      : me_(me),
        plan_hash_(plan_hash),
        options_(options),
        actors_(actors),
        memory_(memory),
        node_(node) {}

  /// Starts to deliver control messages. Called by the rank's actor, once.
  void receive_all_control();
  /// Blocks the calling actor until an operation is done or a control message is there, and
  /// delivers it. Returns false if the clock reached `until` before.
  bool wait(Protocol& protocol, Seconds until);

  void post(const Operation& operation, Token token, PostOptions options) override;
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
    Rank peer = -1;
    Slice target;  // of a receive
    Token token = 0;
    Envelope* envelope = nullptr;  // of a receive: set by SimGrid, ours from then on
    std::vector<std::uint64_t>* control = nullptr;  // set by SimGrid, its sender's
  };
  struct Local {
    Posted posted;
    bool copies = false;  // also the first of the accumulates on a flag
    Seconds end = 0;
  };
  /// The end of an operation on a flag.
  struct Due {
    Seconds time = 0;
    Completion completion;
  };

  [[nodiscard]] Count bytes(const Posted& message) const {
    return message.operation.data().count * options_.element_bytes;
  }
  [[nodiscard]] bool is_eager(const Posted& message) const {
    return !message.options.paced && bytes(message) <= options_.network.eager_limit;
  }
  [[nodiscard]] static simgrid::s4u::Mailbox* mailbox(Rank from, Rank to, const std::string& what);
  [[nodiscard]] simgrid::s4u::Mailbox* mailbox(Rank from, Rank to, const Posted& message) const;
  [[nodiscard]] static simgrid::s4u::Mailbox* control_mailbox(Rank from, Rank to);
  void send(const Posted& message);
  void put(const Posted& message);
  void post_receive(const Posted& message);
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
  void await(const Posted& posted);
  void accumulate(const Posted& posted);
  void begin_accumulate(const Posted& posted);
  void begin_local(const Posted& posted, bool copies);
  void complete_at(Seconds time, const Completion& completion);
  void ring();

  Rank me_;
  std::uint64_t plan_hash_;
  const SimulationOptions& options_;
  const std::vector<simgrid::s4u::ActorPtr>& actors_;
  Memory* memory_;
  SimGridNode* node_;
  std::map<Rank, std::deque<Posted>> leaving_;  // by peer; the first is under way
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
