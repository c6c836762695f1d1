// One rank's share in a call: carries out on a transport the steps that ArrivalRank decides.
#pragma once

#include <string>

#include "algorithms/bcast/arrival/arrival_rank.hpp"
#include "base/partition.hpp"
#include "protocol/protocol.hpp"

namespace latecomer::bcast {

/// The meaning of a control message.
[[nodiscard]] ControlMeaning meaning_of(ControlWords words);

class ArrivalProtocol final : public BasicProtocol {
 public:
  /// The context and the transport must outlive it.
  ArrivalProtocol(const Feeding& feeding, const RankContext& context, Transport& transport);

  void start() override {}
  void arrive() override { follow(rank_.arrive()); }
  void completed(const Completion& completion) override;
  [[nodiscard]] bool uses_control() const override { return true; }
  void on_control(Rank from, ControlWords words) override;
  [[nodiscard]] std::string waiting_for() const override;

 private:
  void follow(const Step& step);
  [[nodiscard]] Slice data(const Transfer& transfer) const;
  void take(Count segment, std::uint64_t plan_hash);

  const RankContext& context_;
  Transport& transport_;
  ArrivalRank rank_;
  Buffer buffer_;
  Partition segments_;
};

}  // namespace latecomer::bcast
