// The engine: runs a program as a pipelined dataflow. An operation is posted as soon as its
// dependencies are done, in program order if several are ready.
#pragma once

#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "protocol/protocol.hpp"
#include "schedule/program.hpp"

namespace latecomer {

/// An index of a program, made once and used in every call: which operations wait for which, the
/// messages of each peer, and the order of long receives.
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

// Runs a program as a pipelined dataflow: an operation is posted as soon as its dependencies are
// done, in program order if several are ready. Long receives, whose senders wait until they are
// posted, are posted from one peer at a time, in program order, so that data needed first do not
// share the link with data needed later. Receives and sends are posted in program order per peer
// and direction, at most `window` of each in flight; combines, copies and accumulates run one at a
// time, lowest index first, but for accumulates that another rank is at: these are tried again.

using EngineOptions = ProtocolOptions;

class Engine final : public BasicProtocol {
 public:
  /// The index must outlive the engine.
  Engine(const ProgramIndex& index, Transport& transport, EngineOptions options = {});

  [[nodiscard]] bool restart(const ProtocolOptions& options) override;
  void start() override;
  void arrive() override;
  void completed(const Completion& completion) override;
  [[nodiscard]] std::string waiting_for() const override;
  /// The number of operations that are done.
  [[nodiscard]] std::size_t done() const override { return index_.size() - unfinished_; }

 private:
  /// The progress of one of the index's channels.
  struct Progressed {
    std::size_t posted = 0;  // the channel's operations [0, posted) were posted
    std::uint32_t in_flight = 0;
    bool noted = false;  // its next operation is in messages_
  };
  /// Operations that are ready: a heap with the first of the program in front.
  using Ready = std::vector<OpIndex>;

  void reset();
  void release_independent();
  void finish(OpIndex index);
  void make_ready(OpIndex index);
  void pump();
  void note_next(std::uint32_t channel);
  [[nodiscard]] OpIndex next_long() const { return index_.long_receives()[long_done_]; }
  void finish_long(OpIndex index);
  void post_message();
  void post_local();
  [[nodiscard]] bool may_combine() const { return arrived_ || options_.combine_before_arrival; }

  const ProgramIndex& index_;
  Transport& transport_;
  EngineOptions options_;
  bool arrived_ = false;
  bool local_busy_ = false;
  std::size_t unfinished_ = 0;
  std::vector<std::uint32_t> missing_;  // dependencies not yet done, per operation
  std::vector<Progressed> channels_;
  std::vector<bool> done_;      // per operation; only of long receives
  std::vector<bool> awaited_;   // per operation; only of awaits
  std::size_t long_done_ = 0;   // so many of the long receives, and those before them, are done
  std::vector<OpIndex> flags_;  // signals and awaits to post
  Ready messages_;              // the next of their channels, to post
  Ready locals_;                // to run
  Ready busy_;                  // accumulates to try again when another local operation is done
};

/// Executes a rank's part of a plan by running a program on the engine.
class ProgramExecutor final : public Executor {
 public:
  /// `eager`: elements of the longest message whose receive may be posted ahead of its turn.
  explicit ProgramExecutor(Program program, Count eager = ProgramIndex::kNothingLong)
      : program_(std::move(program)), index_(program_, eager) {}
  ProgramExecutor(const ProgramExecutor&) = delete;
  ProgramExecutor& operator=(const ProgramExecutor&) = delete;

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const RankContext& context() const override { return program_; }
  [[nodiscard]] std::unique_ptr<Protocol> create_protocol(
      Transport& transport, const ProtocolOptions& options) const override {
    return std::make_unique<Engine>(index_, transport, options);
  }

 private:
  Program program_;
  ProgramIndex index_;
};

[[nodiscard]] inline Executors executors_of(std::span<const Program> programs,
                                            Count eager = ProgramIndex::kNothingLong) {
  Executors executors;
  for (const Program& program : programs) {
    executors.push_back(std::make_unique<ProgramExecutor>(program, eager));
  }
  return executors;
}

}  // namespace latecomer
