// What the engine must know of a program besides its operations, found out once and used in every
// call: who waits for whom, each peer's messages, and whose turn long receives are.
#pragma once

#include <limits>
#include <vector>

#include "schedule/program.hpp"

namespace latecomer {

class ProgramIndex {
 public:
  static constexpr Count kNothingLong = std::numeric_limits<Count>::max();

  /// The program must outlive the index. `eager`, elements: a longer receive is a long one.
  explicit ProgramIndex(const Program& program, Count eager = kNothingLong);

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] std::size_t size() const { return waits_.size(); }
  [[nodiscard]] const Operation& operation(OpIndex index) const {
    return program_.operations[index];
  }
  [[nodiscard]] Count eager() const { return eager_; }
  [[nodiscard]] bool is_long(const Operation& op) const {
    return op.kind == OpKind::recv && op.target.count > eager_;
  }

  /// Whether a piggyback's words travel along with it.
  [[nodiscard]] bool piggybacks(OpIndex index) const {
    return !piggybacks_.empty() && piggybacks_[index];
  }

  /// How many operations each one waits for.
  [[nodiscard]] const std::vector<std::uint32_t>& waits() const { return waits_; }
  /// Those that wait for it.
  struct Dependents {
    const OpIndex* first;
    const OpIndex* last;
    [[nodiscard]] const OpIndex* begin() const { return first; }
    [[nodiscard]] const OpIndex* end() const { return last; }
  };
  [[nodiscard]] Dependents dependents(OpIndex index) const {
    return {dependents_.data() + dependents_begin_[index],
            dependents_.data() + dependents_begin_[index + 1]};
  }

  /// The operations that stand for this rank's arrival.
  [[nodiscard]] const std::vector<OpIndex>& arrivals() const { return arrivals_; }
  /// How many operations are this rank's own: combines and copies.
  [[nodiscard]] std::size_t locals() const { return locals_; }

  /// The messages to or from one peer, in program order.
  struct Channel {
    Rank peer = -1;
    std::vector<OpIndex> operations;
  };
  [[nodiscard]] const std::vector<Channel>& channels() const { return channels_; }
  /// Of a send or receive.
  [[nodiscard]] std::uint32_t channel_of(OpIndex index) const { return channel_of_[index]; }

  /// The long receives in program order.
  [[nodiscard]] const std::vector<OpIndex>& long_receives() const { return long_; }
  /// Of a long receive: counts the changes of the peer before it.
  [[nodiscard]] std::uint32_t turn(OpIndex index) const { return turn_[index]; }

 private:
  void index_dependents();
  void index_messages();

  const Program& program_;
  Count eager_;
  std::vector<bool> piggybacks_;  // per operation; empty: none
  std::vector<std::uint32_t> waits_;
  std::vector<OpIndex> dependents_;            // of operation i: from dependents_begin_[i]
  std::vector<std::size_t> dependents_begin_;  // to dependents_begin_[i + 1]
  std::vector<OpIndex> arrivals_;
  std::size_t locals_ = 0;
  std::vector<Channel> channels_;
  std::vector<std::uint32_t> channel_of_;
  std::vector<OpIndex> long_;
  std::vector<std::uint32_t> turn_;
};

}  // namespace latecomer
