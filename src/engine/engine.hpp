// Runs a program as a pipelined dataflow: an operation is posted as soon as its dependencies are
// done, in program order if several are ready. Long receives, whose senders wait until they are
// posted, are posted from one peer at a time, in program order, so that data needed first do not
// share the link with data needed later. Receives and sends are posted in program order per peer
// and direction, at most `window` of each in flight; combines, copies and accumulates run one at a
// time, lowest index first, but for accumulates that another rank is at: these are tried again.
#pragma once

#include <vector>

#include "engine/index.hpp"
#include "protocol/executor.hpp"

namespace latecomer {

using EngineOptions = ProtocolOptions;

class Engine final : public Protocol {
 public:
  /// The index must outlive the engine.
  Engine(const ProgramIndex& index, Transport& transport, EngineOptions options = {});

  [[nodiscard]] bool restart(const ProtocolOptions& options) override;
  void start() override;
  void arrive() override;
  void completed(const Completion& completion) override;
  [[nodiscard]] Status status() const override { return status_; }
  [[nodiscard]] const std::string& failure() const override { return failure_; }
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
  void fail(std::string why);
  void fail_by_plan_of(Rank other);

  const ProgramIndex& index_;
  Transport& transport_;
  EngineOptions options_;
  Status status_ = Status::running;
  std::string failure_;
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

}  // namespace latecomer
