// The blocks of one rank's vector on their way from contributions to results: where the sum of a
// block lies so far, and how a contribution is received.
#pragma once

#include <vector>

#include "base/partition.hpp"
#include "schedule/builder.hpp"

namespace latecomer::allreduce {

class BlockSums {
 public:
  /// `at_once`: scratch for so many contributions, which are received in turn.
  BlockSums(Count elements, Count blocks, Count at_once, Builder& builder)
      : builder_(builder),
        parts_(elements, blocks),
        combined_(static_cast<std::size_t>(blocks), false),
        slots_(at_once),
        landings_(builder.scratch(parts_.longest() * at_once)) {}

  /// This rank's sum of the block so far.
  [[nodiscard]] Slice sum(Count block) const {
    return combined_[static_cast<std::size_t>(block)] ? result(block) : input(block);
  }
  [[nodiscard]] Slice result(Count block) const { return builder_.output(parts_.range(block)); }

  /// Receives a contribution and combines it in the output.
  void receive_contribution(Rank from, Count block) {
    const Slice own = input(block);
    const bool first = !combined_[static_cast<std::size_t>(block)];
    combined_[static_cast<std::size_t>(block)] = true;
    if (first && !builder_.writable(own) && !builder_.background()) {
      builder_.recv(from, result(block));
      return builder_.combine(own, result(block), Into::right);
    }
    const Slice landing = next_landing(own.count);
    builder_.recv(from, landing);
    if (first) builder_.copy(own, result(block));
    builder_.combine(landing, result(block), Into::right);
  }

  void receive_result(Rank from, Count block) { builder_.recv(from, result(block)); }

 private:
  [[nodiscard]] Slice input(Count block) const { return builder_.input(parts_.range(block)); }

  Slice next_landing(Count count) {
    return landings_.part(landed_++ % slots_ * parts_.longest(), count);
  }

  Builder& builder_;
  Partition parts_;
  std::vector<bool> combined_;  // by block: its sum lies in the output
  Count slots_;
  Slice landings_;
  Count landed_ = 0;
};

}  // namespace latecomer::allreduce
