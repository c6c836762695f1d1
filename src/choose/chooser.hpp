// What is done about each call of a communicator: which algorithm carries it out, and with which
// plan. The MPI library's own collective is the safe default under automatic choice: another one
// must have shown that it is better, in at least three calls of each, and may only cost what the
// calls have paid for. Closed forms price the candidates for the arrivals that are expected; what
// calls really took corrects them (docs/decisions/0016-selection.md).
//
// A call is priced from its last arrival on, since nobody can do anything about what was before. In
// a rooted collective ranks may leave earlier: there the price is the mean over the ranks of exit
// minus arrival, and what needs no estimate is compared under arrivals like those of the last
// calls where none are expected.
//
// A deterministic function of what it is told, so that ranks that are told the same choose the
// same. It knows no MPI and no clock: runs over MPI and rehearsals use the same.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "choose/call_class.hpp"
#include "choose/policy.hpp"
#include "forecast/call_sequence.hpp"
#include "telemetry/watch.hpp"

namespace latecomer {

/// What is done about one call.
struct Decision {
  enum class Action : std::uint8_t {
    library,  // the MPI library's own collective, which was chosen
    refused,  // the same, since the algorithm that was set does not take the problem
    plan,     // the plan is carried out
  };
  Action action = Action::library;
  std::shared_ptr<const Plan> plan = nullptr;
  const Algorithm* row = nullptr;  // that was chosen
  Seconds predicted = 0;           // its price
  bool exchange_arrivals = false;  // all ranks of the arrivals, where the call's messages do not
  std::string why = {};            // NOLINT(readability-redundant-member-init): of a refusal
};

class Chooser {
 public:
  static constexpr std::size_t kMaxClasses = 64;  // the one unused longest goes
  /// Of rooted calls one in so many is told of: telling makes all ranks wait for the last one,
  /// which such a call by itself does not. While the library's are chosen and nobody is late the
  /// number doubles each time.
  static constexpr std::uint64_t kRootedEvery = 8;
  // What these may take, of the time of the calls that they are for.
  static constexpr double kPlanning = 0.01;    // what it is expected to take: half as much
  static constexpr double kSetUp = 0.02;       // making a link
  static constexpr double kLooking = 0.01;     // at who is expected, where the library is chosen
  static constexpr double kExchanging = 0.01;  // telling of arrivals after calls of the library

  Chooser(Rank me, Rank ranks) : me_(me), ranks_(ranks) {}

  [[nodiscard]] Rank rank() const { return me_; }
  [[nodiscard]] Rank ranks() const { return ranks_; }
  /// The settings. After a change: forget().
  [[nodiscard]] const Policy& policy() const { return policy_; }
  [[nodiscard]] Policy& policy() { return policy_; }
  /// What was learned of calls says nothing any more.
  void forget();
  /// Other arrivals are given.
  void expect_anew();
  /// Of what was learned so far.
  [[nodiscard]] StateHash state_hash() const { return state_hash_; }
  /// What was learned so far gives way to what another communicator of the same ranks learned,
  /// under the same policy. Calls of that one are over.
  void take_over(Chooser&& other);
  /// The same of the arrivals alone, which watch_arrivals() will go on with.
  void take_over_watch(Chooser&& other);

  // --- Calls that are only watched ---

  /// Of a call under automatic choice. Valid while version() stays.
  [[nodiscard]] CallClass& class_of(const Problem& problem);
  [[nodiscard]] std::uint64_t version() const { return version_; }
  /// False for short calls of rooted collectives, and for those of two ranks: they are the MPI
  /// library's, and nothing is known of them.
  [[nodiscard]] static bool worth_a_class(const Problem& problem);
  /// Nothing is done about the class's next call: it is the MPI library's.
  [[nodiscard]] static bool left_alone(const CallClass& call_class) {
    return !call_class.active || call_class.calls + 1 < call_class.next_event;
  }
  /// A call of the class was carried out by the MPI library in `seconds` on this rank (of no
  /// importance where it was not to be timed), and nothing else was done about it. True: its ranks
  /// are to review the last calls now.
  static bool watched(CallClass& call_class, Seconds seconds);
  /// This rank's part of a review. `room`: whether this process may have another link.
  [[nodiscard]] static Review review(const CallClass& call_class, bool room);
  /// `all`: the ranks' reviews, reduced. True: the class became active; there must be a link from
  /// now on.
  bool reviewed(CallClass& call_class, const Problem& problem, const Review& all);
  /// A link is there, of this number: further classes need none. Without one nothing is ever
  /// active.
  void connected(std::uint64_t link);
  /// There can be none.
  void give_up();
  /// A call was carried out about which nothing was decided.
  void skip() { skipped_ = true; }

  // --- Calls that are decided about ---

  /// Arrivals are told from now on.
  void watch_arrivals();
  void watch_no_more();
  /// Null: they are not.
  [[nodiscard]] Watch* watch() { return watch_.get(); }
  [[nodiscard]] const Watch* watch() const { return watch_.get(); }
  /// Whether a plan's own messages tell all ranks of the arrivals.
  [[nodiscard]] bool piggybacks(const Plan& plan) const {
    return watch_ != nullptr && plan.telemetry;
  }

  /// Who is expected when in the call that comes now; empty: all together, or nobody knows. Once
  /// for each call that is decided about.
  [[nodiscard]] const std::vector<Seconds>& expect(const Problem& problem);
  /// Replaces it: rank 0 knows better.
  void expect_instead(std::vector<Seconds> arrivals) { expected_ = std::move(arrivals); }
  [[nodiscard]] const std::vector<Seconds>& expected() const { return expected_; }
  /// About the call that was expected. `announced`: by rank 0 for all ranks, so that it may begin
  /// before its arrivals; protocols do not. What rank 0 knows of such calls is its own.
  [[nodiscard]] Decision decide(const Problem& problem, bool announced = false);
  /// A call of the class took `inside` seconds on this rank with all that was done about it; of
  /// them `library` the MPI library's own collective, 0 if a plan was carried out. Not of calls
  /// that rank 0 announced. True as of watched().
  bool measured(CallClass& call_class, Seconds library, Seconds inside) const;
  /// Rank 0 decided about the call that comes now and announced it.
  void adopt(const Problem& problem, const Algorithm& row, Seconds predicted);
  /// A plan for a call like this one, made before it comes. Throws Error as make_plan.
  std::shared_ptr<const Plan> likely_plan(const Problem& problem);
  /// The call is over and was told of: what is known now of it, or of the one before, corrects
  /// what will be chosen.
  void learn();
  /// Nobody told of the call.
  void miss();

  [[nodiscard]] const PlanCache& plans() const { return plans_; }

 private:
  /// What was chosen for a call.
  struct Selection {
    CallKey key = 0;
    const Algorithm* row = nullptr;
    Seconds predicted = 0;
    bool first = false;  // of its calls since it was last judged: slower than those that follow
  };
  using Candidates = std::vector<Candidate>;
  class Prices;

  bool activate(CallClass& call_class, const Problem& problem, const Review& all);
  void judge(CallClass& call_class, Collective collective, const Review& all);
  void know(Collective collective, bool announced);
  [[nodiscard]] Decision decide_as_set(const Problem& problem, bool announced);
  [[nodiscard]] PlanCache& plans_for_call() {
    return known_.background ? announced_plans_ : plans_;
  }
  [[nodiscard]] CallClass& announced_class_of(const Problem& problem);
  [[nodiscard]] const CachedPlan* plan_if_affordable(CallClass& call_class, const Algorithm& row,
                                                     const Problem& problem);
  void price(CallClass& call_class, const Problem& problem);
  void collect(CallClass& call_class, const Problem& problem, bool announced);
  void collect_arrival_independent(CallClass& call_class, const Problem& problem, bool announced);
  [[nodiscard]] Seconds price_of(const CallClass& call_class, const Candidate& candidate,
                                 const std::vector<Seconds>& arrivals) const;
  [[nodiscard]] const Candidate* trial_candidate(CallClass& call_class) const;
  [[nodiscard]] const Candidate& best_of(const CallClass& call_class) const;
  [[nodiscard]] std::uint64_t calls_between_exchanges(const CallClass& call_class,
                                                      const Candidate& chosen,
                                                      const Problem& problem) const;
  [[nodiscard]] std::uint64_t next_event(const CallClass& call_class, std::uint64_t every) const;
  void rest(CallClass& call_class, std::uint64_t every, bool observed);
  void note(const Selection& selection);
  void learn(const Selection& selection, std::optional<Seconds> taken,
             const std::vector<Seconds>& arrivals);
  [[nodiscard]] Seconds price_in_hindsight(CallClass& call_class, const Selection& selection,
                                           const std::vector<Seconds>& arrivals);
  void forget_oldest();

  Rank me_;
  Rank ranks_;
  Policy policy_;
  bool connected_ = false;
  StateHash state_hash_ = 0;
  bool skipped_ = false;
  std::map<CallKey, CallClass> classes_;
  std::uint64_t version_ = 0;
  std::uint64_t events_ = 0;
  Seconds spent_ = 0;  // by all calls that were reviewed
  PlanCache plans_;
  PlanCache announced_plans_;  // of calls that this rank decides about for all
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Watch> past_watch_;  // another communicator's
  std::vector<Seconds> expected_;
  Knowledge known_;  // that the call at hand is planned with
  // With an algorithm that was set; of those that are announced, this rank may be the only one
  // that knows.
  std::uint64_t rooted_calls_ = 0;
  std::uint64_t announced_rooted_calls_ = 0;
  Selection last_, before_;  // what a call took may be known only after the next one
  Candidates candidates_;    // of the call that comes now: the balanced one, the library's, ...
};

}  // namespace latecomer
