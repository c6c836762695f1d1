// The protocol of a rank that drives its node: its own program, like that of the other ranks there,
// beside the node's side of a protocol among nodes. Both use the rank's transport, which runs one
// local operation at a time: other nodes wait for the node's, so these come first.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/nodes/lift.hpp"
#include "engine/engine.hpp"
#include "protocol/protocol.hpp"

namespace latecomer {

// A node's side of a protocol among nodes, as the node's driver carries it out. The vector is the
// node's buffer; the node arrives when the first part of the sum of its ranks' vectors is there.
// Operations wait for the parts that they touch, and results are signalled to the node's ranks as
// the protocol settles them.

/// The vector of a node, and the flags by which its ranks tell each other of it. A rank that is
/// alone on its node needs neither: its buffers are the node's.
struct NodeVector {
  struct Flagged {
    Slice slice;
    std::int32_t flag = -1;
  };
  Slice whole;
  std::vector<Flagged> sums;     // in order, all of it; the flags count the node's ranks
  std::vector<Flagged> results;  // likewise; the flags count the driver alone
  Rank ranks = 1;                // of the node
  bool tells = false;            // the first parts carry arrival stamps
};

class NodeProtocol final : public Protocol, private Transport {
 public:
  /// `among`: of the node, by a plan of as many ranks as there are nodes. `plan_hash`: of the plan
  /// that the ranks follow. All references must outlive it.
  NodeProtocol(const Executor& among, const NodeVector& vector, const Drivers& drivers,
               std::uint64_t plan_hash, Transport& transport, const ProtocolOptions& options);

  /// Begins when the driver is there, or its progress thread.
  void start() override;
  void arrive() override;
  void completed(const Completion& completion) override;
  [[nodiscard]] bool uses_control() const override { return true; }
  /// `from`: the driver of another node.
  void on_control(Rank from, ControlWords words) override;
  [[nodiscard]] Status status() const override;
  [[nodiscard]] const std::string& failure() const override;
  [[nodiscard]] std::string waiting_for() const override;

 private:
  /// Operations of the protocol that wait for elements of the sum.
  using Held = std::deque<Posted>;
  enum class Kind : std::uint8_t { among, sum, result };

  [[nodiscard]] static Token token(Kind kind, std::size_t number);
  [[nodiscard]] Slice place(const Slice& slice) const;
  [[nodiscard]] bool is_there(const Slice& slice) const;
  void release(Held& queue) const;
  void summed(std::size_t part);

  // The transport of the protocol among the nodes.
  void post(const Operation& operation, Token number, PostOptions options) override;
  void settled(const Slice& result) override;
  void send_control(Rank peer, ControlWords words) override;

  const NodeVector& vector_;
  Drivers drivers_;
  std::uint64_t plan_hash_;
  std::uint64_t hash_among_;
  Transport& transport_;
  std::unique_ptr<Protocol> protocol_;
  std::vector<bool> summed_;      // by part
  std::size_t parts_summed_ = 0;  // so many from the first one on
  Held sends_, receives_, locals_;
  std::vector<Count> unsettled_;  // elements, by part of the result
  std::size_t open_ = 0;          // awaits and signals that have not ended
};

class DriverProtocol final : public Protocol {
 public:
  /// All references must outlive it.
  DriverProtocol(const ProgramExecutor& own, const Executor& among, const NodeVector& vector,
                 const Drivers& drivers, Transport& transport, const ProtocolOptions& options);

  void start() override;
  void arrive() override;
  void completed(const Completion& completion) override;
  [[nodiscard]] bool uses_control() const override { return true; }
  void on_control(Rank from, ControlWords words) override;
  [[nodiscard]] Status status() const override;
  [[nodiscard]] std::size_t done() const override { return own_->done(); }
  [[nodiscard]] const std::string& failure() const override;
  [[nodiscard]] std::string waiting_for() const override;

 private:
  enum class Whose : std::uint8_t { node, own };
  /// The transport of one of the two.
  class Port final : public Transport {
   public:
    Port(DriverProtocol& driver, Whose whose) : driver_(driver), whose_(whose) {}
    void post(const Operation& operation, Token token, PostOptions options) override;
    void send_control(Rank peer, ControlWords words) override;

   private:
    DriverProtocol& driver_;
    Whose whose_;
  };

  void begin();
  void next_local();

  Transport& transport_;
  Progress progress_;
  Port node_port_{*this, Whose::node};
  Port own_port_{*this, Whose::own};
  NodeProtocol node_;
  std::unique_ptr<Protocol> own_;
  std::array<std::optional<Posted>, 2> locals_;  // to run: the node's, its own
  std::optional<Token> running_;                 // the local operation under way
  bool begun_ = false;
  std::vector<std::pair<Rank, std::vector<std::uint64_t>>> kept_;  // control messages, until then
};

}  // namespace latecomer
