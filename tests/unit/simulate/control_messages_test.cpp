// Words on the virtual network, told by protocols that do nothing else.
#include <gtest/gtest.h>

#include <algorithm>

#include "simulate/simulate.hpp"

namespace latecomer {
namespace {

/// Rank 0 tells rank 1 so many words when it arrives; rank 1 is done when it has heard them all.
class Telling final : public Protocol {
 public:
  Telling(Rank me, std::uint64_t words, Transport& transport, std::vector<std::uint64_t>& heard)
      : me_(me), words_(words), transport_(transport), heard_(heard) {}

  void start() override {}
  void arrive() override {
    for (std::uint64_t word = 0; me_ == 0 && word < words_; ++word)
      transport_.send_control(1, word);
  }
  void completed(const Completion& /*completion*/) override {}
  [[nodiscard]] bool uses_control() const override { return true; }
  void on_control(Rank from, std::uint64_t word) override {
    EXPECT_EQ(from, 0);
    heard_.push_back(word);
  }
  [[nodiscard]] Status status() const override {
    return me_ == 0 || heard_.size() == words_ ? Status::done : Status::running;
  }
  [[nodiscard]] const std::string& failure() const override { return none_; }
  [[nodiscard]] std::string waiting_for() const override { return "for words"; }

 private:
  Rank me_;
  std::uint64_t words_;
  Transport& transport_;
  std::vector<std::uint64_t>& heard_;
  std::string none_;
};

class ControlExecutor final : public Executor {
 public:
  ControlExecutor(Rank me, std::uint64_t words, std::vector<std::uint64_t>& heard)
      : words_(words), heard_(heard) {
    context_.me = me;
    context_.ranks = 2;
  }
  [[nodiscard]] const RankContext& context() const override { return context_; }
  [[nodiscard]] std::unique_ptr<Protocol> create_protocol(
      Transport& transport, const ProtocolOptions& /*options*/) const override {
    return std::make_unique<Telling>(context_.me, words_, transport, heard_);
  }

 private:
  RankContext context_;
  std::uint64_t words_;
  std::vector<std::uint64_t>& heard_;
};

struct Told {
  Simulation result;
  std::vector<std::uint64_t> heard;
};

Told told(std::uint64_t words, const Network& network, const std::vector<Seconds>& arrivals) {
  Told told;
  Executors executors;
  for (const Rank rank : {0, 1}) {
    executors.push_back(std::make_unique<ControlExecutor>(rank, words, told.heard));
  }
  SimulationOptions options;
  options.network = network;
  options.arrivals = arrivals;
  told.result = simulate(executors, options);
  return told;
}

/// 8 bytes each.
TEST(Words, TakeThePortsLikeShortMessages) {
  const Network network{.alpha = 1, .beta = 0.5};
  EXPECT_EQ(told(1, network, {2, 0}).result.exits, (std::vector<Seconds>{2, 7}));
  EXPECT_EQ(told(3, network, {0, 0}).result.exits, (std::vector<Seconds>{0, 15}));
}

TEST(Words, AreToldBeforeTheArrivalToo) {
  const Network network{.alpha = 1, .beta = 0.5};
  EXPECT_EQ(told(1, network, {0, 100}).result.exits[1], 5);
}

TEST(Words, KeepTheirOrderWhateverTheyTake) {
  Network network;
  network.jitter = 20;
  network.ports = 3;
  const Told all = told(50, network, {0, 0});
  ASSERT_EQ(all.heard.size(), 50U);
  EXPECT_TRUE(std::is_sorted(all.heard.begin(), all.heard.end()));
}

TEST(Words, ThatNeverComeLeaveARankStuck) {
  EXPECT_EQ(told(0, {}, {0, 0}).result.failure, "");
  Executors executors;
  std::vector<std::uint64_t> heard;
  executors.push_back(std::make_unique<ControlExecutor>(0, 1, heard));
  executors.push_back(std::make_unique<ControlExecutor>(1, 2, heard));
  EXPECT_EQ(simulate(executors, {}).failure, "rank 1: stuck, waits for words");
}

}  // namespace
}  // namespace latecomer
