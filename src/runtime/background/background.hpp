// What the progress thread does for one communicator. Rank 0 announces the plan of a call when the
// first rank has entered it, down a binomial tree of progress threads; the ranks that still compute
// begin it at once: what does not depend on their arrival is done when they come
// (docs/decisions/0015).
//
// All of it runs with the communicator's turn taken, by the progress thread or by the program's.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "patterns/trees.hpp"
#include "runtime/background/post.hpp"
#include "runtime/background/progress_thread.hpp"
#include "runtime/background/sequencer.hpp"
#include "runtime/decision.hpp"
#include "runtime/plan_cache.hpp"
#include "runtime/route.hpp"
#include "runtime/run.hpp"

namespace latecomer {

class Background final : public Served {
 public:
  /// All ranks make one, for a state that has a link and outlives it.
  explicit Background(CommState& state);
  /// Collective: letters under way are drained.
  ~Background() override;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // --- The progress thread's ---

  bool serve() override;
  Post& retire() override;

  // --- The program's threads' ---

  /// Whether such a call is announced, the same on all ranks: a built-in operator on a built-in
  /// type, or data that are only moved, and a vector beside which the announcement costs little.
  [[nodiscard]] bool serves(const Call& call) const;
  /// This rank entered the next call, which is served, at `arrived` on the common clock: waits for
  /// its plan. Fails as calls do.
  [[nodiscard]] Outcome join(const Call& call, Seconds arrived);
  /// After join: the plan; null: the call is the MPI library's, and why_native() tells why, if that
  /// was not the choice; whether all ranks tell of it, if its own messages do not, is tells().
  [[nodiscard]] const Prepared* prepared() const { return prepared_; }
  [[nodiscard]] const std::string& why_native() const { return why_native_; }
  [[nodiscard]] bool tells() const { return tells_; }
  /// Operations of the next call that are done already.
  [[nodiscard]] std::size_t ahead() const { return protocol_ ? protocol_->done() : 0; }
  /// After join, with a plan: carries the call through.
  [[nodiscard]] Outcome carry_out(const Call& call);
  /// For a call that is not served: why it must fail, if another one was begun in its place or the
  /// thread's work failed.
  [[nodiscard]] Outcome obstacle() const;

  /// This rank will enter the next call at `arrival`, on the common clock; `weight`: the part of
  /// its computation that this rests on. Told to rank 0 where it can make a difference.
  void report(Seconds arrival, double weight);
  /// What the progress thread does, now. False: there was nothing.
  bool step();

 private:
  [[nodiscard]] std::uint64_t next_call() const { return state_.link->calls + 1; }
  [[nodiscard]] RunOptions run_options() const { return {state_.comm, state_.tuning.long_wait}; }
  bool read_letters();
  void take(const Delivered& delivered);
  void announce(const Letter& letter);
  bool issue_asked();
  void issue(const Description& what);
  [[nodiscard]] Letter plan_call(const Description& what);
  [[nodiscard]] std::vector<Seconds> arrivals_of(std::uint64_t call, const Problem& problem);
  void plan_as(Decision decision, const Problem& problem, Letter& letter);
  [[nodiscard]] Problem problem_of(const Description& what) const;
  [[nodiscard]] bool in_place(Collective collective) const {
    return in_place_[static_cast<std::size_t>(collective)];
  }
  bool begin_announced();
  void expect(const Letter& letter);
  void begin(const Letter& letter, bool in_place);
  bool advance();
  void fail(Outcome outcome);
  [[nodiscard]] Outcome wait_for_plan(const Description& what);
  void end_call();

  CommState& state_;
  Post post_;
  TreeNode node_;  // whom announcements come from and go to
  Sequencer sequencer_;
  std::map<std::uint64_t, Letter> announced_;  // by call; those to come
  bool retired_ = false;
  Outcome failure_;  // of the thread's work; told by the next call

  // The call that was begun.
  std::unique_ptr<Protocol> protocol_;
  const Prepared* prepared_ = nullptr;
  Seconds arrived_ = 0;  // this rank, on the common clock
  std::string why_native_;
  bool tells_ = true;
  // As the last call of each collective was: what is begun ahead expects it again.
  std::array<bool, kCollectives> in_place_{};
  Seconds reported_ = 0;  // the arrival that rank 0 was told last
  std::uint64_t reported_call_ = 0;
};

}  // namespace latecomer
