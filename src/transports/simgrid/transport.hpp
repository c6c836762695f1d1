// The transport of one rank that is a SimGrid actor: messages through mailboxes, combining as
// sleep of gamma a byte, copies free. An eager message leaves when it is sent, a longer one when
// both sides have posted it; messages of one pair leave one after another, as on one connection.
// So do its words, beside the messages: each is a message of 8 bytes to whoever listens.
// What SimGrid makes of a message (latency, shared links) is the platform's and its model's.
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

class SimGridTransport final : public Transport {
 public:
  static constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();

  /// `actors`: one a rank. `memory`: this rank's, or null. Both and the options must outlive it.
  SimGridTransport(Rank me, const SimulationOptions& options,
                   const std::vector<simgrid::s4u::ActorPtr>& actors, Memory* memory)
      : me_(me), options_(options), actors_(actors), memory_(memory) {}

  /// From now on words are delivered. By the rank's actor, once.
  void receive_all_control();
  /// Blocks the calling actor until one operation is done or a word is there, and delivers it.
  /// False: the clock reached `until` before.
  bool wait(Protocol& protocol, Seconds until);

  void send(const Message& message, std::uint64_t plan_hash, Token token) override;
  void recv(const Message& message, Token token) override;
  void combine(const Slice& left, const Slice& right, Into into, Token token) override;
  void copy(const Slice& from, const Slice& to, Token token) override;
  void tell(Rank peer, std::uint64_t control) override;

 private:
  /// What travels: SimGrid moves its address, and time as if it were the message.
  struct Envelope {
    std::uint64_t plan_hash = 0;
    Elements elements;  // only if there is memory
  };
  enum class Kind : std::uint8_t { send, receive, control };
  /// A message under way, or a word to be heard, as this side sees it.
  struct PendingMessage {
    Kind kind = Kind::send;
    Message message;  // of a word its peer only
    Token token = 0;
    Envelope* envelope = nullptr;      // of a receive: set by SimGrid, ours from then on
    std::uint64_t* control = nullptr;  // set by SimGrid, its sender's
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
  void finish(std::size_t index, Protocol& protocol);
  void put_next(Rank peer);
  [[nodiscard]] Completion receive(PendingMessage& pending);
  void work(Protocol& protocol);

  Rank me_;
  const SimulationOptions& options_;
  const std::vector<simgrid::s4u::ActorPtr>& actors_;
  Memory* memory_;
  std::map<Rank, std::deque<Outgoing>> leaving_;  // by peer; the first is under way
  // Parallel: the activities under way, as SimGrid wants them, and what they are.
  std::vector<simgrid::s4u::ActivityPtr> activities_;
  std::vector<std::unique_ptr<PendingMessage>> pending_;
  std::deque<std::uint64_t> control_sent_;  // words stay where they are, for their receivers
  std::optional<Local> local_;
};

}  // namespace latecomer
