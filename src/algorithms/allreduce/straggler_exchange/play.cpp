#include "algorithms/allreduce/straggler_exchange/play.hpp"

#include <algorithm>

#include "algorithms/allreduce/straggler_exchange/rounds.hpp"
#include "base/interruption.hpp"
#include "base/partition.hpp"

namespace latecomer::allreduce {
namespace {

class Play {
 public:
  Play(const Plan& plan, const Network& network, const std::vector<Seconds>& arrivals)
      : network_(network),
        early_(plan.problem.ranks - 1),
        bytes_(plan.problem.element_bytes),
        blocks_(plan.problem.count, early_) {
    for (const Rank rank : plan.order) sent_.push_back(arrivals[rank]);
    received_ = combined_ = sent_;
    for (const Seconds arrival : sent_) ready_.emplace_back(early_, arrival);
  }

  std::vector<Seconds> operator()() {
    reduce_scatter();
    const ExchangeRounds rounds(early_ + 1);
    for (Rank round = 0; round < rounds.count(); ++round) {
      interruption_point();
      for (Rank me = 0; me <= early_; ++me) {
        const Exchange exchange = rounds.at(me, round);
        if (me < exchange.partner) meet(me, exchange, round < early_ && me == round);
      }
    }
    std::vector<Seconds> exits;
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      exits.push_back(std::max({sent_[i], received_[i], combined_[i]}));
    }
    return exits;
  }

 private:
  [[nodiscard]] Count bytes(Rank block) const {
    return block == kNoBlock ? 0 : blocks_.range(block).count * bytes_;
  }

  void reduce_scatter() {
    for (Rank step = 0; step + 1 < early_; ++step) {
      interruption_point();
      for (Rank from = 0; from < early_; ++from) {
        const Rank to = (from + 1) % early_;
        const Rank block = (from - 1 - step + early_) % early_;
        pass(from, to, block, 1);
        land(to, block, true);
      }
    }
  }

  /// Both messages leave before either counts: they may be partial results of one block.
  void meet(Rank me, const Exchange& exchange, bool partial) {
    const double slower =
        bytes(exchange.sent) > 0 && bytes(exchange.received) > 0 ? network_.exchange : 1;
    pass(me, exchange.partner, exchange.sent, slower);
    pass(exchange.partner, me, exchange.received, slower);
    land(exchange.partner, exchange.sent, partial);
    land(me, exchange.received, partial);
  }

  /// A message leaves when its sender has sent the one before it, and its receiver has received
  /// the one before it.
  void pass(Rank from, Rank to, Rank block, double slower) {
    if (bytes(block) == 0) return;
    const Seconds begin = std::max({sent_[from], received_[to], ready_[from][block]});
    sent_[from] = received_[to] =
        begin + network_.handshake + slower * network_.occupancy(bytes(block));
  }

  void land(Rank to, Rank block, bool partial) {
    if (bytes(block) == 0) return;
    ready_[to][block] = received_[to];
    if (!partial) return;
    combined_[to] = std::max(combined_[to], received_[to]) + network_.combining(bytes(block));
    ready_[to][block] = combined_[to];
  }

  const Network& network_;
  Rank early_;
  Count bytes_;  // of an element
  Partition blocks_;
  // By position: until when it sends, receives and combines; and since when it has each block.
  std::vector<Seconds> sent_;
  std::vector<Seconds> received_;
  std::vector<Seconds> combined_;
  std::vector<std::vector<Seconds>> ready_;
};

}  // namespace

std::vector<Seconds> play_exchange(const Plan& plan, const Network& network,
                                   const std::vector<Seconds>& arrivals) {
  return Play(plan, network, arrivals)();
}

}  // namespace latecomer::allreduce
