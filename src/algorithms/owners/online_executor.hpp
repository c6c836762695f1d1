// Makes the protocols of online owners for one rank, or for one node.
#pragma once

#include <memory>

#include "algorithms/owners/online_protocol.hpp"
#include "schedule/plan.hpp"

namespace latecomer::owners {

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
