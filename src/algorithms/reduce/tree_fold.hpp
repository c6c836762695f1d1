// One rank's share in a reduction along a tree: folds the messages of its children into its own
// data, with three blocks of scratch however many children there are.
#pragma once

#include <array>

#include "schedule/builder.hpp"

namespace latecomer::reduce {

class TreeFold {
 public:
  /// `keeps`: the result stays on this rank, so that it is best combined in its output.
  TreeFold(Builder& builder, Range range, bool keeps)
      : builder_(builder), range_(range), keeps_(keeps) {}

  /// This rank's own contribution: it lies to the right of all that was received before.
  void own() {
    const Slice mine = builder_.input(range_);
    value_ = begun_ ? builder_.fold(value_, Received::left, mine, place_of_own()) : mine;
    begun_ = owned_ = true;
  }
  /// Receives from a rank whose contributions lie on the given side; `last`: no other will follow.
  void receive(Rank from, Received side, bool last) {
    const Slice landing = place_for(last);
    builder_.recv(from, landing);
    // Own data that are to stand on the right and must not be written are moved.
    const bool moves = begun_ && side == Received::left && !builder_.commutative();
    const Slice spare = moves ? free_block(landing) : landing;
    value_ = begun_ ? builder_.fold(landing, side, value_, spare) : landing;
    begun_ = true;
  }
  void send(Rank to) { builder_.send(to, value_); }
  /// Sends the result, which `holder` has, to `root`.
  void hand_over(Rank holder, Rank root) {
    if (builder_.me() == holder) send(root);
    if (builder_.me() != root) return;
    value_ = builder_.output(range_);
    builder_.recv(holder, value_);
  }
  /// Copies the result to the output, where it is not there yet.
  void finish() { builder_.copy(value_, builder_.output(range_)); }
  [[nodiscard]] const Slice& value() const { return value_; }

 private:
  /// In place the output holds this rank's own data until these are folded.
  [[nodiscard]] bool output_is_free() const {
    return keeps_ && (owned_ || builder_.input(range_) != builder_.output(range_));
  }
  [[nodiscard]] Slice place_of_own() {
    return output_is_free() ? builder_.output(range_) : free_block(value_);
  }
  [[nodiscard]] Slice place_for(bool last) {
    // The output must not be written before the arrival: messages that may be there earlier need
    // scratch.
    if (!output_is_free() || builder_.background()) return free_block(value_);
    // Where the operator commutes, all messages are folded into the first.
    const bool lands = builder_.commutative() ? !begun_ || !builder_.writable(value_) : last;
    const Slice output = builder_.output(range_);
    return lands && value_ != output ? output : free_block(value_);
  }
  /// The block of scratch that was used longest ago.
  [[nodiscard]] Slice free_block(const Slice& used) {
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
  bool begun_ = false;  // there is a value
  bool owned_ = false;  // it holds this rank's own contribution
  Slice value_;
  std::array<Slice, 3> blocks_{};
  std::size_t next_ = 0;
};

}  // namespace latecomer::reduce
