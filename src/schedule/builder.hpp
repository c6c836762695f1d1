// Writes one rank's program, operation by operation; dependencies are derived from the data. Only
// the pace is given: that a send waits for an earlier operation.
// Slices without elements are left out, on both sides alike.
#pragma once

#include <set>
#include <utility>

#include "schedule/plan.hpp"
#include "schedule/program.hpp"
#include "schedule/scoreboard.hpp"

namespace latecomer {

/// Whose contributions lie on the left: of the slice received, or of this rank's own.
enum class Received : std::uint8_t { left, right };

class Builder {
 public:
  /// What no operation that is written here needs to be told to wait for.
  static constexpr OpIndex kNone = 0;  // the arrival

  Builder(const Plan& plan, Rank me);

  [[nodiscard]] Rank me() const { return program_.me; }
  // Where a range of the whole vector lies. In place both are the same buffer.
  /// What this rank has before the call.
  [[nodiscard]] Slice input(Range range) const;
  /// What it is to have after it.
  [[nodiscard]] Slice output(Range range) const;
  /// A fresh block of scratch.
  Slice scratch(Count count);

  void send(Rank to, const Slice& data);
  /// Also waits for the send written before it and for `pace`, an earlier operation, although the
  /// data do not ask for it: sends keep the order of the program, and no rank runs ahead and takes
  /// links from those who are on time.
  void send_in_turn(Rank to, const Slice& data, OpIndex pace = kNone);
  void recv(Rank from, const Slice& target);
  /// All messages of the program (program.hpp). Every rank's must say the same.
  void pace_by_receivers() { program_.receiver_paced = true; }
  /// Telemetry, where the plan has it: messages tell their receiver whom the sender has heard of,
  /// the first of each peer and direction unless told otherwise. Both sides must say the same.
  void tell(bool whether) { tells_ = whether; }
  void tell_no_more() { telemetry_ = false; }
  /// The next message of each peer and direction tells again.
  void tell_anew() { told_.clear(); }
  /// Messages that hold nothing else, sent when all that was heard so far is here.
  void notify(Rank to);
  void hear(Rank from);
  void copy(const Slice& from, const Slice& to);  // nothing to do where they are the same
  void combine(const Slice& left, const Slice& right, Into into);

  /// Combines what was received with this rank's own partial result, in operand order, without a
  /// copy where the operator allows it; returns where the result lies. Where own data that may
  /// not be written stand on the right, they are first copied to `spare`.
  Slice fold(const Slice& received, Received side, const Slice& own, const Slice& spare);
  /// The same where several ranks combine the same operands, each for itself: operators that
  /// commute by name may give other bits with operands swapped, so what stands on the left is
  /// evaluated on the left. `own` is then what is written wherever `received` stands there.
  Slice fold_in_order(const Slice& received, Received side, const Slice& own, const Slice& spare);

  /// Receives the partial result of `range` from `from` and folds this rank's input in.
  /// `final`: the result lies in the output. Otherwise it lies where fold leaves it. With
  /// background progress it is received before this rank arrives.
  Slice receive_and_fold(Rank from, Range range, Received side, bool final);
  /// The same for a final result, with fold_in_order.
  Slice receive_and_fold_in_order(Rank from, Range range, Received side);

  /// The operation written last; at first the arrival.
  [[nodiscard]] OpIndex last() const {
    return static_cast<OpIndex>(program_.operations.size() - 1);
  }
  [[nodiscard]] bool writable(const Slice& slice) const { return slice.buffer != Buffer::input; }
  [[nodiscard]] bool commutative() const { return program_.commutative; }
  [[nodiscard]] bool background() const { return program_.progress == Progress::background; }

  [[nodiscard]] Program finish() { return std::move(program_); }

 private:
  void add(const Operation& operation);
  void add_message(const Operation& operation);
  void tell_of_arrival();

  Range input_;  // of the vector, that the buffers hold
  Range output_;
  Program program_;
  Scoreboard scoreboard_;
  OpIndex sent_ = kNone;                  // the last send
  std::vector<OpIndex> heard_ = {kNone};  // the messages that held nothing else
  bool telemetry_;
  bool tells_ = true;
  std::set<std::pair<OpKind, Rank>> told_;
};

}  // namespace latecomer
