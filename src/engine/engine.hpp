// Runs a program as a pipelined dataflow: an operation is posted as soon as what it depends on is
// done, the first of the program where several are. Long receives, whose senders wait until they
// are posted, are posted from one peer at a time, in program order: what is needed first does not
// share the link with what is needed later. Receives and sends are posted in program order per peer
// and direction, at most `window` of each in flight; combines and copies run one at a time, lowest
// index first.
#pragma once

#include <limits>
#include <map>
#include <queue>
#include <vector>

#include "protocol/protocol.hpp"

namespace latecomer {

struct EngineOptions {
  std::uint32_t window = 64;                        // requests in flight per peer and direction
  Count eager = std::numeric_limits<Count>::max();  // elements; a longer receive is a long one
  bool combine_before_arrival = true;  // false for user operators: they stay off the thread
};

class Engine final : public Protocol {
 public:
  /// The program must outlive the engine.
  Engine(const Program& program, Transport& transport, EngineOptions options = {});

  void start() override;
  void arrive() override;
  void completed(const Completion& completion) override;
  [[nodiscard]] Status status() const override { return status_; }
  [[nodiscard]] const std::string& failure() const override { return failure_; }
  [[nodiscard]] std::string waiting_for() const override;

 private:
  /// The messages to or from one peer, in program order.
  struct Channel {
    Rank peer = -1;
    std::vector<OpIndex> operations;
    std::size_t posted = 0;  // operations[0, posted) were posted
    std::uint32_t in_flight = 0;
    bool noted = false;  // its next operation is among messages_
  };
  /// Operations, the first of the program on top.
  using Lowest = std::priority_queue<OpIndex, std::vector<OpIndex>, std::greater<>>;

  void index_program();
  void index_dependents();
  void release_independent();
  void finish(OpIndex index);
  void make_ready(OpIndex index);
  void pump();
  void note_next(Channel& channel);
  [[nodiscard]] bool is_long(const Operation& op) const {
    return op.kind == OpKind::recv && op.target.count > options_.eager;
  }
  void finish_long(OpIndex index);
  void post_message();
  void post_local();
  [[nodiscard]] bool may_combine() const { return arrived_ || options_.combine_before_arrival; }
  void fail(std::string why);

  const Program& program_;
  Transport& transport_;
  EngineOptions options_;
  Status status_ = Status::running;
  std::string failure_;
  bool arrived_ = false;
  bool local_busy_ = false;
  std::size_t unfinished_ = 0;
  std::vector<std::uint32_t> missing_;         // dependencies not yet done, per operation
  std::vector<OpIndex> dependents_;            // of operation i: from dependents_begin_[i]
  std::vector<std::size_t> dependents_begin_;  // to dependents_begin_[i + 1]
  std::vector<Channel> channels_;
  std::vector<std::uint32_t> channel_of_;  // per operation; only of sends and receives
  std::vector<OpIndex> long_;        // receives that are not done, the next of the program last
  std::vector<std::uint32_t> turn_;  // per operation; of long receives: counts changes of the peer
  std::vector<bool> done_;           // per operation; only of long receives
  Lowest messages_;                  // to post: the next of their channels, ready
  Lowest locals_;                    // to run: ready
};

}  // namespace latecomer
