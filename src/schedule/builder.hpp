// Writes one rank's program, operation by operation, and derives the dependencies from the elements
// that operations touch. Only pacing is explicit: a send may wait for an earlier operation. Slices
// without elements are left out, on both sides alike.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "schedule/plan.hpp"
#include "schedule/program.hpp"

namespace latecomer {

/// Derives the dependencies of operations from the element ranges they read and write, as a
/// processor's scoreboard does: read after write, write after read, write after write.
class Scoreboard {
 public:
  /// Returns the operation's dependencies, ascending, and notes the slices that it reads and
  /// writes.
  std::vector<OpIndex> add(OpIndex index, const Operation& operation, const Program& program);

 private:
  /// A range of one buffer whose elements have the same last writer and readers since.
  struct Cell {
    Count end;
    OpIndex writer;
    std::vector<OpIndex> readers;
  };
  using Cells = std::map<Count, Cell>;  // by begin; ranges that are absent were never written

  void write(const Slice& slice, OpIndex index, std::vector<OpIndex>& after);
  void read(const Slice& slice, OpIndex index, std::vector<OpIndex>& after);
  Cells::iterator split(Cells& cells, Count at);
  Cells& cells(Buffer buffer) { return cells_[static_cast<int>(buffer)]; }

  Cells cells_[kBuffers];
};

/// The side on which a received slice stands when it is combined with this rank's own.
enum class Received : std::uint8_t { left, right };

class Builder {
 public:
  /// The index of no predecessor: no operation needs an explicit dependency on the arrival.
  static constexpr OpIndex kNone = 0;  // the arrival

  Builder(const Plan& plan, Rank me);

  [[nodiscard]] Rank me() const { return program_.me; }
  // The slice that holds a range of the whole vector. In place, input and output are one buffer.
  /// The range as this rank holds it before the call.
  [[nodiscard]] Slice input(Range range) const;
  /// The range as this rank must hold it after the call.
  [[nodiscard]] Slice output(Range range) const;
  /// Reserves `count` further elements of scratch.
  Slice scratch(Count count);

  void send(Rank to, const Slice& data);
  /// Sends after the preceding send and after `pace`, an earlier operation, although the data do
  /// not require it: sends keep the order of the program, so no rank runs ahead and takes links
  /// from ranks that are on time.
  void send_in_turn(Rank to, const Slice& data, OpIndex pace = kNone);
  void recv(Rank from, const Slice& target);
  /// Makes receivers pace all messages of the program (Program::receiver_paced). All ranks must do
  /// this alike.
  void pace_by_receivers() { program_.receiver_paced = true; }
  /// Telemetry, if the plan has it: from now on the first message of each peer and direction
  /// piggybacks arrival stamps if `whether` is true. Sender and receiver must agree.
  void piggyback(bool whether) { piggybacks_ = whether; }
  void stop_piggybacking() { telemetry_ = false; }
  /// The next message of each peer and direction piggybacks again.
  void piggyback_again() { piggybacked_.clear(); }
  /// Messages without elements, which only carry arrival stamps; a notification is sent when all
  /// earlier notifications have been received.
  void notify(Rank to);
  void receive_notification(Rank from);
  void copy(const Slice& from, const Slice& to);  // nothing to do where they are the same
  void combine(const Slice& left, const Slice& right, Into into);

  // The buffer and the flags that the ranks of a node share. All of them must reserve alike.
  /// Reserves `count` further elements of the node's buffer.
  Slice node(Count count);
  /// Reserves a further flag.
  std::int32_t flag();
  /// Adds 1 to a flag when `data` are there, as this rank's operations so far leave them.
  void signal(const Slice& data, std::int32_t flag);
  /// Adds 1 to a flag when this rank's operations so far no longer read or write `data`.
  void signal_end_of_use(const Slice& data, std::int32_t flag);
  /// Operations that touch `data` from now on wait until the flag has counted to `count`.
  void await(const Slice& data, std::int32_t flag, Rank count);
  /// Combines into the node's buffer, in the order in which ranks come to it; the first one copies.
  void accumulate(const Slice& from, const Slice& to, std::int32_t flag);
  /// Adds an operation of another program, whose slices are this one's by now.
  void add_lifted(const Operation& operation) { add(operation); }
  /// The operations that the last one waits for; a wait for the arrival alone is none.
  [[nodiscard]] const std::vector<OpIndex>& waits_of_last() const { return program_.after.back(); }
  [[nodiscard]] OpKind kind(OpIndex index) const { return program_.operations[index].kind; }
  /// The last operation waits for an earlier one too.
  void wait_also_for(OpIndex earlier);
  void wait_also_for_all(const std::vector<OpIndex>& earlier) {
    for (const OpIndex each : earlier) wait_also_for(each);
  }
  /// The last operation carries arrival stamps, if the plan has telemetry: a signal or accumulate
  /// leaves them in the node, an await takes what the others left.
  void piggyback_last();

  /// Combines a received slice with this rank's own partial result, in operand order, without a
  /// copy if the operator allows it, and returns the slice of the result. Own data on the right
  /// that may not be overwritten are first copied to `spare`.
  Slice fold(const Slice& received, Received side, const Slice& own, const Slice& spare);
  /// As fold(), for results that several ranks compute redundantly. Operators that are commutative
  /// by declaration may give other bits with operands swapped, so the left operand is evaluated on
  /// the left. `own` is overwritten if `received` stands on the left.
  Slice fold_in_order(const Slice& received, Received side, const Slice& own, const Slice& spare);

  /// Receives the partial result of `range` from `from` and folds this rank's input in. A `final`
  /// result lies in the output, another one where fold() leaves it. With background progress it is
  /// received before this rank arrives.
  Slice receive_and_fold(Rank from, Range range, Received side, bool final);
  /// As receive_and_fold(), for a final result, with fold_in_order().
  Slice receive_and_fold_in_order(Rank from, Range range, Received side);

  /// The last operation; at first the arrival.
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
  void depend_on_arrival();

  Range input_;  // the range of the vector that the input buffer holds
  Range output_;
  Program program_;
  Scoreboard scoreboard_;
  OpIndex sent_ = kNone;                     // the last send
  std::vector<OpIndex> notified_ = {kNone};  // the notifications received
  bool telemetry_;
  bool piggybacks_ = true;
  std::set<std::pair<OpKind, Rank>> piggybacked_;
};

}  // namespace latecomer
