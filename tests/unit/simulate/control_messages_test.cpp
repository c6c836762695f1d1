// Control messages on the virtual network, of protocols that send nothing else.
#include <gtest/gtest.h>

#include <algorithm>

#include "simulate/simulate.hpp"

namespace latecomer {
namespace {

/// Rank 0 sends rank 1 some control messages when it arrives; rank 1 is done when it has them all.
class Sending final : public Protocol {
 public:
  Sending(Rank me, std::uint64_t messages, Transport& transport,
          std::vector<std::uint64_t>& received)
      : me_(me), messages_(messages), transport_(transport), received_(received) {}

  void start() override {}
  void arrive() override {
    for (std::uint64_t payload = 0; me_ == 0 && payload < messages_; ++payload)
      transport_.send_control(1, {&payload, 1});
  }
  void completed(const Completion& /*completion*/) override {}
  [[nodiscard]] bool uses_control() const override { return true; }
  void on_control(Rank from, ControlWords words) override {
    EXPECT_EQ(from, 0);
    received_.push_back(words.front());
  }
  [[nodiscard]] Status status() const override {
    return me_ == 0 || received_.size() == messages_ ? Status::done : Status::running;
  }
  [[nodiscard]] const std::string& failure() const override { return none_; }
  [[nodiscard]] std::string waiting_for() const override { return "for messages"; }

 private:
  Rank me_;
  std::uint64_t messages_;
  Transport& transport_;
  std::vector<std::uint64_t>& received_;
  std::string none_;
};

class ControlExecutor final : public Executor {
 public:
  ControlExecutor(Rank me, std::uint64_t messages, std::vector<std::uint64_t>& received)
      : messages_(messages), received_(received) {
    context_.me = me;
    context_.ranks = 2;
  }
  [[nodiscard]] const RankContext& context() const override { return context_; }
  [[nodiscard]] std::unique_ptr<Protocol> create_protocol(
      Transport& transport, const ProtocolOptions& /*options*/) const override {
    return std::make_unique<Sending>(context_.me, messages_, transport, received_);
  }

 private:
  RankContext context_;
  std::uint64_t messages_;
  std::vector<std::uint64_t>& received_;
};

struct Outcome {
  Simulation result;
  std::vector<std::uint64_t> received;
};

Outcome send(std::uint64_t messages, const Network& network, const std::vector<Seconds>& arrivals,
             bool trace = false) {
  Outcome outcome;
  Executors executors;
  for (const Rank rank : {0, 1}) {
    executors.push_back(std::make_unique<ControlExecutor>(rank, messages, outcome.received));
  }
  SimulationOptions options;
  options.network = network;
  options.arrivals = arrivals;
  options.trace = trace;
  outcome.result = simulate(executors, options);
  return outcome;
}

/// Each message has 8 bytes.
TEST(ControlMessages, TakeThePortsLikeShortMessages) {
  const Network network{.alpha = 1, .beta = 0.5};
  EXPECT_EQ(send(1, network, {2, 0}).result.exits, (std::vector<Seconds>{2, 7}));
  EXPECT_EQ(send(3, network, {0, 0}).result.exits, (std::vector<Seconds>{0, 15}));
}

TEST(ControlMessages, AreDeliveredBeforeTheArrivalToo) {
  const Network network{.alpha = 1, .beta = 0.5};
  EXPECT_EQ(send(1, network, {0, 100}).result.exits[1], 5);
}

TEST(ControlMessages, KeepTheirOrderWhateverTheyTake) {
  Network network;
  network.jitter = 20;
  network.ports = 3;
  const Outcome all = send(50, network, {0, 0});
  ASSERT_EQ(all.received.size(), 50U);
  EXPECT_TRUE(std::is_sorted(all.received.begin(), all.received.end()));
}

/// They are entries of a kind of their own, with their words.
TEST(ControlMessages, AreTracedWithTheirWords) {
  const Network network{.alpha = 1, .beta = 0.5};
  const Outcome all = send(2, network, {0, 0}, true);
  ASSERT_EQ(all.result.trace.size(), 2U);
  for (std::uint64_t number = 0; number < 2; ++number) {
    const TraceEntry& entry = all.result.trace[number];
    EXPECT_EQ(entry.kind, TraceEntry::Kind::control);
    EXPECT_EQ(entry.control, std::vector<std::uint64_t>{number});
    EXPECT_EQ(entry.from, 0);
    EXPECT_EQ(entry.to, 1);
    EXPECT_EQ(entry.begin, 5.0 * static_cast<double>(number));
    EXPECT_EQ(entry.end, entry.begin + 5);
  }
}

TEST(ControlMessages, ThatNeverComeLeaveARankStuck) {
  EXPECT_EQ(send(0, {}, {0, 0}).result.failure, "");
  Executors executors;
  std::vector<std::uint64_t> received;
  executors.push_back(std::make_unique<ControlExecutor>(0, 1, received));
  executors.push_back(std::make_unique<ControlExecutor>(1, 2, received));
  EXPECT_EQ(simulate(executors, {}).failure, "rank 1: stuck, waits for messages");
}

}  // namespace
}  // namespace latecomer
