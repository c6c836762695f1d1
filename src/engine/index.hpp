// An index of a program, made once and used in every call: which operations wait for which, the
// messages of each peer, and the order of long receives.
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

  /// True if the message carries piggyback data.
  [[nodiscard]] bool piggybacks(OpIndex index) const {
    return !piggybacks_.empty() && piggybacks_[index];
  }

  /// The number of operations that each operation waits for.
  [[nodiscard]] const std::vector<std::uint32_t>& waits() const { return waits_; }
  /// The operations that wait for one.
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
  /// The number of combines, copies and accumulates.
  [[nodiscard]] std::size_t locals() const { return locals_; }
  [[nodiscard]] std::size_t accumulates() const { return accumulates_; }
  /// The number of signals and awaits.
  [[nodiscard]] std::size_t flags() const { return flags_; }

  /// The messages to or from one peer, in program order.
  struct Channel {
    Rank peer = -1;
    std::vector<OpIndex> operations;
  };
  [[nodiscard]] const std::vector<Channel>& channels() const { return channels_; }
  /// The channel of a send or receive.
  [[nodiscard]] std::uint32_t channel_of(OpIndex index) const { return channel_of_[index]; }

  /// The long receives in program order.
  [[nodiscard]] const std::vector<OpIndex>& long_receives() const { return long_; }
  /// The number of changes of peer among the long receives up to this one.
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
  std::size_t accumulates_ = 0;
  std::size_t flags_ = 0;
  std::vector<Channel> channels_;
  std::vector<std::uint32_t> channel_of_;
  std::vector<OpIndex> long_;
  std::vector<std::uint32_t> turn_;
};

}  // namespace latecomer
