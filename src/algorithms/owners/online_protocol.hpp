// One rank's share in a call of online owners: what OnlineRank decides, on a transport.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/owners/online_rank.hpp"
#include "algorithms/row.hpp"
#include "protocol/protocol.hpp"
#include "schedule/plan.hpp"

namespace latecomer::owners {

/// Where the blocks lie in the vector, which the output holds.
struct BlockLayout {
  std::vector<Range> blocks;
  Count longest = 0;
  Count input_begin = 0;  // of the vector's elements in the input, the first
  Count stamped = 0;      // the messages of so many blocks, the first ones, carry arrival stamps
};

/// The meaning of a control message.
[[nodiscard]] ControlMeaning meaning_of(ControlWords words);

class OnlineProtocol final : public BasicProtocol {
 public:
  /// All references must outlive it.
  OnlineProtocol(const OnlineCall& call, const BlockLayout& layout, const RankContext& context,
                 Transport& transport);

  void start() override {}
  void arrive() override;
  void completed(const Completion& completion) override;
  [[nodiscard]] bool uses_control() const override { return true; }
  void on_control(Rank from, ControlWords words) override;
  [[nodiscard]] std::string waiting_for() const override { return rank_.waiting_for(); }

 private:
  void follow(const OnlineRank::Step& step);
  void end();
  void send(std::size_t send);
  [[nodiscard]] PostOptions options(const Hop& hop, const Slice& data, bool first) const;
  void settle(Count block);
  void receive(std::size_t receive);
  void combine_next();
  void landed(std::size_t receive, std::uint64_t plan_hash);
  [[nodiscard]] Slice own(Count block) const;
  [[nodiscard]] Slice result(Count block) const;
  [[nodiscard]] bool lands(std::size_t receive) const;
  [[nodiscard]] Slice landing(std::size_t receive) const;

  const RankContext& context_;
  Transport& transport_;
  OnlineRank rank_;
  const BlockLayout& layout_;
  bool combines_;
  bool copying_ = false;                // the input to the output
  std::deque<std::size_t> to_combine_;  // receives, the first one under way
  std::vector<bool> settled_;           // by block: told, of those that this rank owns
  std::vector<bool> sent_to_;           // by rank: the first message carries the plan's hash
  std::vector<bool> received_from_;
  std::vector<bool> first_of_peer_;  // by receive: it is the first message of its sender
  bool arrived_ = false;
  std::vector<std::pair<Rank, std::vector<std::uint64_t>>>
      kept_;  // control messages, until the arrival
};

/// The parameters of its rows. `blocks`, `coordinator`: the meanings of these two.
[[nodiscard]] std::vector<Parameter> online_parameters(std::string_view blocks,
                                                       std::string_view coordinator);

/// Makes the protocols of online owners for one rank, or for one node.
class OnlineExecutor final : public Executor {
 public:
  /// `member`: the word by which messages for people name the ranks of the plan.
  OnlineExecutor(const Plan& plan, Rank me, const char* member = "rank");

  [[nodiscard]] const RankContext& context() const override { return context_; }
  [[nodiscard]] std::unique_ptr<Protocol> create_protocol(
      Transport& transport, const ProtocolOptions& options) const override;
  [[nodiscard]] ControlMeaning meaning(ControlWords words) const override {
    return meaning_of(words);
  }

 private:
  OnlineCall call_;
  BlockLayout layout_;
  RankContext context_;
};

}  // namespace latecomer::owners
