// One rank's share in a reduction along a tree: folds what its children send into its own, with
// three blocks of scratch however many they are.
#pragma once

#include <array>

#include "schedule/builder.hpp"

namespace latecomer::reduce {

class TreeFold {
 public:
  /// `keeps`: the result stays on this rank, so that it is best combined in its output.
  TreeFold(Builder& builder, Range range, bool keeps)
      : builder_(builder), range_(range), keeps_(keeps), value_(builder.input(range)) {}

  /// From a rank whose contributions lie on the given side; `last`: no other will follow.
  void receive(Rank from, Received side, bool last) {
    const Slice landing = place_for(last);
    builder_.recv(from, landing);
    // Own data that are to stand on the right and must not be written are moved.
    const bool moves = side == Received::left && !builder_.commutative();
    value_ = builder_.fold(landing, side, value_, moves ? spare(landing) : landing);
  }
  void send(Rank to) { builder_.send(to, value_); }
  /// The result, which `holder` has, goes to `root`.
  void hand_over(Rank holder, Rank root) {
    if (builder_.me() == holder) send(root);
    if (builder_.me() != root) return;
    value_ = builder_.output(range_);
    builder_.recv(holder, value_);
  }
  /// The result goes to the output, where it is not there yet.
  void finish() { builder_.copy(value_, builder_.output(range_)); }

 private:
  [[nodiscard]] Slice place_for(bool last) {
    // The output is not to be written before the arrival: what is to come earlier needs scratch.
    if (!keeps_ || builder_.background()) return spare(value_);
    // Where the operator commutes all are folded into the first one that came.
    const bool lands = builder_.commutative() ? !builder_.writable(value_) : last;
    const Slice output = builder_.output(range_);
    return lands && value_ != output ? output : spare(value_);
  }
  /// The block of scratch that has been left alone longest.
  [[nodiscard]] Slice spare(const Slice& used) {
    for (std::size_t tries = 0; tries < blocks_.size(); ++tries) {
      Slice& block = blocks_[next_];
      next_ = (next_ + 1) % blocks_.size();
      if (block.empty()) block = builder_.scratch(range_.count);
      if (block != used && block != value_) return block;
    }
    return blocks_.front();  // not reached: three blocks, at most two in use
  }

  Builder& builder_;
  Range range_;
  bool keeps_;
  Slice value_;
  std::array<Slice, 3> blocks_{};
  std::size_t next_ = 0;
};

}  // namespace latecomer::reduce
