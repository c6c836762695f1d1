// One rank's share in a call: carries out the decisions of LocalRedirectState on a transport.
#pragma once

#include <string>
#include <vector>

#include "algorithms/reduce/local_redirect/local_redirect_state.hpp"
#include "protocol/executor.hpp"

namespace latecomer::reduce {

/// The line, as every rank knows it.
struct Line {
  std::vector<Rank> order;      // ranks by position; the last one ends up with the result
  std::vector<Rank> positions;  // by rank
  Rank root = 0;

  [[nodiscard]] Rank tail() const { return order.back(); }
};

/// The meaning of a control message.
[[nodiscard]] ControlMeaning meaning_of(const Line& line, ControlWords words);

class LocalRedirectProtocol final : public Protocol {
 public:
  /// All must outlive it.
  LocalRedirectProtocol(const Line& line, const RankContext& context, Transport& transport);

  void start() override {}
  void arrive() override;
  void completed(const Completion& completion) override;
  [[nodiscard]] bool uses_control() const override { return true; }
  void on_control(Rank from, ControlWords words) override;
  [[nodiscard]] Status status() const override { return status_; }
  [[nodiscard]] const std::string& failure() const override { return failure_; }
  [[nodiscard]] std::string waiting_for() const override;

 private:
  /// The operations that complete; each runs at most once at a time.
  enum class Task : Token { receive, move, merge, give, keep, hand_over, take_over };

  [[nodiscard]] Rank me() const { return context_.me; }
  [[nodiscard]] bool keeps() const { return line_.tail() == me() && line_.root == me(); }
  [[nodiscard]] Rank rank_at(Rank position) const { return line_.order[position]; }
  void follow(const LocalRedirectState::Step& step);
  void receive(Rank from);
  void merge();
  void combine(const Slice& right, Into into);
  void end();
  void send(Rank to, Task task);
  void take(Rank from, const Slice& target, Task task);
  /// True if the message belongs to the same plan; otherwise the call fails.
  bool check(const Completion& completion, Rank from);
  void post(const Operation& operation, Task task, PostOptions options = {}) {
    transport_.post(operation, static_cast<Token>(task), options);
  }
  void fail(std::string why);

  const Line& line_;
  const RankContext& context_;
  Transport& transport_;
  LocalRedirectState rank_;
  Slice own_;
  Slice home_;   // where partial results are merged: this rank's own may not be written
  Slice spare_;  // where others' partial results are received
  Slice value_;
  Slice landing_;
  Rank from_ = -1;  // the rank that gives its partial result
  bool ended_ = false;
  Status status_ = Status::running;
  std::string failure_;
};

}  // namespace latecomer::reduce
