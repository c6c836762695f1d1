// What the progress thread does for one communicator. Rank 0 announces the plan of a call when the
// first rank has entered it, down a binomial tree of progress threads; the ranks that still compute
// begin it at once: what does not depend on their arrival is done when they come
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
#include "runtime/progress/sequencer.hpp"

namespace latecomer {

class AsyncProgress final : public Progressable {
 public:
  /// All ranks make one, for a state that has a link and outlives it.
  explicit AsyncProgress(CommState& state);
  /// Waits for nobody.
  ~AsyncProgress() override;
  AsyncProgress(const AsyncProgress&) = delete;
  AsyncProgress& operator=(const AsyncProgress&) = delete;

  // --- The progress thread's ---

  bool progress() override;

  // --- The program's threads' ---

  /// Whether such a call is announced, the same on all ranks: a built-in operator on a built-in
  /// type, or data that are only moved, and a vector beside which the announcement costs little.
  [[nodiscard]] bool announces(const Request& request) const;
  /// This rank entered the next call, which is served: waits for rank 0's decision; `prepared` is
  /// set where that is a plan. Fails as calls do.
  [[nodiscard]] Outcome enter_call(const Request& request, Decision& decision, Prepared*& prepared);
  /// After join, with a plan: what was begun, and is to be carried through.
  [[nodiscard]] Protocol* begun() { return protocol_.get(); }
  /// The plan of the call that was begun last; null: there was none.
  [[nodiscard]] const Prepared* prepared() const { return prepared_; }
  /// That was carried through, or failed.
  void end_call() { protocol_.reset(); }
  /// Operations that the last call joined had done before its arrival. Told once.
  [[nodiscard]] std::uint64_t take_operations_ahead() {
    return std::exchange(operations_ahead_, 0);
  }
  /// For a call that is not served: why it must fail, if another one was begun in its place or the
  /// thread's work failed.
  [[nodiscard]] Outcome obstacle() const;

  /// This rank will enter the next call at `arrival`, on the common clock; `weight`: the part of
  /// its computation that this rests on. Told to rank 0 where it can make a difference.
  void report_expected_arrival(Seconds arrival, double weight);
  /// No call was begun that is not over, and nothing failed.
  [[nodiscard]] bool idle() const { return !protocol_ && failure_.code == MPI_SUCCESS; }
  /// What the progress thread does, now. False: there was nothing.
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
  void expect(const PlanMessage& message);
  void begin(const PlanMessage& message, bool in_place);
  bool advance();
  void fail(Outcome outcome);
  [[nodiscard]] Outcome wait_for_plan(const CallSignature& signature);

  CommState& state_;
  PlanChannel channel_;
  TreeNode node_;  // whom announcements come from and go to
  Sequencer sequencer_;
  std::map<std::uint64_t, PlanMessage> announced_;  // by call; those to come
  Outcome failure_;                                 // of the thread's work; told by the next call

  // The call that was begun.
  std::unique_ptr<Protocol> protocol_;
  Prepared* prepared_ = nullptr;
  std::uint64_t operations_ahead_ = 0;
  // As the last call of each collective was: what is begun ahead expects it again.
  std::array<bool, kCollectives> in_place_{};
  Seconds reported_ = 0;  // the arrival that rank 0 was told last
  std::uint64_t reported_call_ = 0;
};

}  // namespace latecomer
