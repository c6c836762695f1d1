// Asynchronous progress of one communicator. Rank 0 announces the plan of a call when the first
// rank has entered it, down a binomial tree of progress threads; the ranks that still compute begin
// it at once, so that operations that do not depend on their arrival are done when they arrive
// (docs/decisions/0015).
//
// All functions run with the communicator's lock held, by the progress thread or by one of the
// program's.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "patterns/trees.hpp"
#include "runtime/call/request.hpp"
#include "runtime/call/run.hpp"
#include "runtime/comm_state.hpp"
#include "runtime/progress/plan_channel.hpp"
#include "runtime/progress/progress_thread.hpp"

namespace latecomer {

class AsyncProgress final : public Progressable {
 public:
  /// For a state that has resources and outlives this object. All ranks make one.
  explicit AsyncProgress(CommState& state);
  /// Does not wait for other ranks.
  ~AsyncProgress() override;
  AsyncProgress(const AsyncProgress&) = delete;
  AsyncProgress& operator=(const AsyncProgress&) = delete;

  // --- The progress thread's ---

  bool progress() override;

  // --- The program's threads' ---

  /// True if such a call is announced, equal on all ranks: a built-in operator on a built-in type,
  /// or data that are only moved, and a vector so long that the announcement costs little beside
  /// it.
  [[nodiscard]] bool announces(const Request& request) const;
  /// Enters the next call, which is announced: waits for rank 0's decision; `prepared` is set if
  /// that is a plan. Fails as calls do.
  [[nodiscard]] Outcome enter_call(const Request& request, Decision& decision, Prepared*& prepared);
  /// After enter_call() with a plan: the call that was begun and must be finished; null: none was.
  [[nodiscard]] Protocol* begun() { return protocol_.get(); }
  /// The plan of the last begun call; null: there was none.
  [[nodiscard]] const Prepared* prepared() const { return prepared_; }
  /// Ends the begun call, done or failed.
  void end_call() { protocol_.reset(); }
  /// Returns the number of operations that the last entered call had done before its arrival, and
  /// resets it.
  [[nodiscard]] std::uint64_t take_operations_ahead() {
    return std::exchange(operations_ahead_, 0);
  }
  /// For a call that is not announced: the reason why it must fail, because another one was begun
  /// in its place or asynchronous progress failed.
  [[nodiscard]] Outcome obstacle() const;

  /// Reports to rank 0, if it can make a difference, that this rank expects to enter the next call
  /// at `arrival`, on the common clock; `weight`: the part of its computation that this rests on.
  void report_expected_arrival(Seconds arrival, double weight);
  /// True if no begun call is unfinished, and nothing failed.
  [[nodiscard]] bool idle() const { return !protocol_ && failure_.code == MPI_SUCCESS; }
  /// Makes progress; the caller holds the lock. Returns false if there was none.
  bool progress_locked();

 private:
  [[nodiscard]] std::uint64_t next_call() const { return state_.resources->calls + 1; }
  bool read_messages();
  void take(const ReceivedPlanMessage& received);
  void announce(const PlanMessage& message);
  bool plan_requested();
  void plan_and_announce(const CallSignature& signature);
  [[nodiscard]] PlanMessage plan_call(const CallSignature& signature);
  [[nodiscard]] std::vector<Seconds> arrivals_of(std::uint64_t call, const Problem& problem);
  [[nodiscard]] Problem problem_of(const CallSignature& signature) const;
  [[nodiscard]] bool in_place(Collective collective) const {
    return in_place_[static_cast<std::size_t>(collective)];
  }
  bool begin_announced();
  [[nodiscard]] std::shared_ptr<const Plan> plan_of(const PlanMessage& message);
  [[nodiscard]] Plan read_plan(const PlanMessage& message) const;
  [[nodiscard]] bool lacks_memory_for(const PlanMessage& message);
  [[nodiscard]] Outcome make_memory(const PlanMessage& message, bool in_place);
  void expect(const PlanMessage& message);
  void begin(const PlanMessage& message, bool in_place);
  bool advance();
  void fail(Outcome outcome);
  [[nodiscard]] Outcome wait_for_plan(const CallSignature& signature);

  CommState& state_;
  PlanChannel channel_;
  TreeNode node_;  // in the tree of announcements
  Sequencer sequencer_;
  std::map<std::uint64_t, PlanMessage> announced_;  // by call, for later calls
  Outcome failure_;  // of the thread's work; the next call reports it

  std::shared_ptr<const Plan> read_plan_;  // the last one
  std::uint64_t read_call_ = 0;            // its call

  // The call that was begun.
  std::unique_ptr<Protocol> protocol_;
  Prepared* prepared_ = nullptr;
  std::uint64_t delayed_ = 0;  // a call that waits for its ranks to make the memory of nodes
  std::uint64_t operations_ahead_ = 0;
  // By collective, the value of its last call: a call that is begun ahead is expected to have the
  // same.
  std::array<bool, kCollectives> in_place_{};
  Seconds reported_ = 0;  // the last arrival reported to rank 0
  std::uint64_t reported_call_ = 0;
};

}  // namespace latecomer
