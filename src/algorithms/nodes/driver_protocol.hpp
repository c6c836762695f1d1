// The protocol of a rank that drives its node: its own program, like that of the other ranks there,
// beside the node's side of a protocol among nodes. Both use the rank's transport, which runs one
// local operation at a time: other nodes wait for the node's, so these come first.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/nodes/node_protocol.hpp"
#include "engine/program_executor.hpp"

namespace latecomer {

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
