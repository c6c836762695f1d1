// Decides about each call of a communicator: which algorithm executes it, with which plan. Under
// automatic choice the MPI library's own collective is the default. Once calls have taken long
// enough, others are candidates: each has a price, for the arrivals that are expected or came
// lately, and what calls cost corrects prices (choose/belief.hpp). Planning may only take what the
// calls have paid for (docs/decisions/0016-selection.md).
//
// A price counts from the last arrival, since no algorithm can change what was before. In a rooted
// collective ranks may leave earlier: there the mean wait for the last rank is part of the price
// and of the cost.
//
// A chooser is a deterministic function of its inputs, so ranks with equal inputs decide alike. It
// uses neither MPI nor a clock: MPI programs and rehearsals share it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/plans.hpp"
#include "choose/call_class.hpp"
#include "choose/policy.hpp"
#include "choose/pricer.hpp"
#include "choose/wisdom.hpp"
#include "forecast/call_sequence.hpp"
#include "telemetry/watch.hpp"

namespace latecomer {

/// The decision about one call.
struct Decision {
  enum class Action : std::uint8_t {
    library,  // the MPI library executes the call, by choice
    refused,  // the MPI library does: the algorithm that was set does not take the problem
    plan,     // the plan is executed
  };
  Action action = Action::library;
  std::shared_ptr<const Plan> plan = nullptr;
  const Algorithm* row = nullptr;  // the row chosen
  Seconds predicted = 0;           // its price
  bool exchange_arrivals = false;  // after the call: its messages carry no stamps
  std::string why = {};   // NOLINT(readability-redundant-member-init): the reason of a refusal
  bool repeated = false;  // the last decision about the class, without looking at the call
  /// After the call the ranks learn what they have told of the block before, if they did, and tell
  /// each other of this one.
  bool ends_block = false;
};

/// The first look at a call, before anything is decided.
struct Glance {
  /// Under automatic choice the class of such calls; null if nothing is learnt of them. Valid while
  /// Chooser::version() stays.
  CallClass* call_class = nullptr;
  bool left = false;  // to the MPI library; nothing but its duration is looked at
};

class Chooser {
 public:
  static constexpr CallKey kAnnounced = 0x5851f42d4c957f2dU;  // in the keys of announced calls
  static constexpr std::size_t kMaxClasses = 64;              // the one unused longest is dropped
  /// Only every kRootedEvery-th rooted call is followed by an arrival exchange, where no blocks are
  /// compared: the exchange makes all ranks wait for the last one, which such a call by itself does
  /// not. While the library is chosen and no rank is late the number doubles each time.
  static constexpr std::uint64_t kRootedEvery = 8;
  // The parts of the calls' time that overheads may take; for planning see CallClass::kPlanning.
  static constexpr double kSetUp = 0.05;       // making CommResources
  static constexpr double kLooking = 0.01;     // forecasting, while the library is chosen
  static constexpr double kExchanging = 0.01;  // exchanging arrivals after native calls, or stamps

  Chooser(Rank me, Rank ranks) : me_(me), ranks_(ranks) {}

  [[nodiscard]] Rank rank() const { return me_; }
  [[nodiscard]] Rank ranks() const { return ranks_; }
  /// The choice that serves calls of the problem whose arrivals are not known, or all together: by
  /// a rule, or as set.
  [[nodiscard]] const Choice& calm_choice(const Problem& problem) const;
  /// Returns true if the algorithm is chosen call by call.
  [[nodiscard]] bool chooses(const Problem& problem) const;
  /// Returns true if the algorithm of each such call is drawn at random.
  [[nodiscard]] bool draws(const Problem& problem) const {
    return seed_of(calm_choice(problem)) > 0;
  }
  /// Returns true unless a rule may choose, for such calls, an algorithm that cannot begin ahead.
  [[nodiscard]] bool may_run_ahead(const Problem& problem) const;
  /// The settings. The caller calls forget() after a change, but for the network: it may be set by
  /// one rank before the others.
  [[nodiscard]] const Policy& policy() const { return policy_; }
  [[nodiscard]] Policy& policy() { return policy_; }
  /// Drops all that was learned about calls.
  void forget();
  /// All ranks have set the same network: from now on automatic choice plans for it, and messages
  /// go in pieces if it wants that.
  void agree_on_network();
  /// That network, equal on all ranks; the built-in one in reproducible mode.
  [[nodiscard]] const Network& agreed_network() const;
  /// Returns true if long messages between nodes go in pieces: where they hinder those of the other
  /// direction.
  [[nodiscard]] bool sends_in_pieces() const { return agreed_network().exchange > 1; }
  /// Sets what earlier jobs have learnt of that network: classes begin with it while nothing is
  /// known from this job. The same on all ranks.
  void begin_with(const NetworkBelief& wisdom);
  /// Returns what the calls of this job have shown of that network; none: nothing.
  [[nodiscard]] std::optional<NetworkBelief> network_learnt() const;
  /// Notes that the program gives other arrivals.
  void expect_anew();
  /// The hash of all that was learned so far.
  [[nodiscard]] StateHash state_hash() const { return state_hash_; }
  /// Replaces what was learned by what another communicator of the same ranks learned under the
  /// same policy. That one's calls are over.
  void take_over(Chooser&& other);
  /// Takes over the history of arrivals alone, which watch_arrivals() will continue.
  void take_over_watch(Chooser&& other);

  // --- Calls that are only watched ---

  /// The class of a call under automatic choice. Valid while version() stays.
  [[nodiscard]] CallClass& class_of(const Problem& problem);
  /// The same; null: it is not known, or no longer.
  [[nodiscard]] CallClass* known_class(const Problem& problem);
  [[nodiscard]] std::uint64_t version() const { return version_; }
  /// Comes first in each call. Nothing is learnt of short calls of rooted collectives, and of those
  /// of two ranks.
  [[nodiscard]] Glance glance(const Problem& problem);
  /// Returns true if the class's next call goes to the MPI library without being looked at.
  [[nodiscard]] static bool left_alone(const CallClass& call_class) {
    return !call_class.active || call_class.calls + 1 < call_class.next_event;
  }
  /// Notes a call of the class that the MPI library executed in `seconds` on this rank (ignored if
  /// it was not to be timed) without any decision. Returns true if the ranks must review the last
  /// calls now.
  bool watched(CallClass& call_class, Seconds seconds);
  /// Puts the next review off.
  static void defer(CallClass& call_class);
  /// This rank's part of a review. `room`: true if this process may make further CommResources.
  [[nodiscard]] Review review(const CallClass& call_class, bool room) const;
  /// Applies a review: `all` is the reduction over the ranks. Returns true if the class became
  /// active, so that the communicator needs CommResources from now on.
  bool reviewed(CallClass& call_class, const Problem& problem, const Review& all);
  /// Notes that the communicator has CommResources with this number, so that further classes need
  /// not pay for them. Without them no class is ever active.
  void connected(std::uint64_t link);
  /// Sets the placement of the ranks, as far as they can share memory.
  void place(const Placement& placement);
  [[nodiscard]] const Placement& placement() const { return pricer_.placement(); }
  /// Notes that there can be no CommResources.
  void give_up();
  /// Notes a call about which nothing was decided.
  void skip() {
    skipped_ = true;
    ++known_;
  }
  /// The number of calls that it has been told of, by skip() or expect().
  [[nodiscard]] std::uint64_t calls_known() const { return known_; }

  // --- Calls that are decided about ---

  /// Starts or stops watching arrivals.
  void watch_arrivals();
  void watch_no_more();
  /// Null if arrivals are not watched.
  [[nodiscard]] Watch* watch() { return watch_.get(); }
  [[nodiscard]] const Watch* watch() const { return watch_.get(); }
  /// Returns true if a plan's own messages carry the arrival stamps.
  [[nodiscard]] bool piggybacks(const Plan& plan) const {
    return watch_ != nullptr && plan.telemetry;
  }

  /// Decides about the call at hand, which was glanced at and not left. `call_class`: the glance's.
  [[nodiscard]] Decision decide(const Problem& problem, CallClass* call_class = nullptr);
  /// The arrivals that were expected for it, in seconds after the earliest; empty if all were
  /// expected together or nothing is known.
  [[nodiscard]] const std::vector<Seconds>& expected() const { return expected_; }
  /// Returns the arrivals that are expected of a call that rank 0 announces. Once for each.
  [[nodiscard]] const std::vector<Seconds>& expect(const Problem& problem);
  /// Decides on rank 0 for all ranks, so that the call may begin before its arrivals; protocols do
  /// not. What rank 0 learns of such calls is its own. `arrivals`: expected, and what ranks have
  /// said.
  [[nodiscard]] Decision decide_announced(const Problem& problem, std::vector<Seconds> arrivals);
  /// Returns true if a rule, or chance, decided about the call at hand.
  [[nodiscard]] bool ruled() const { return ruled_ != nullptr; }
  /// The same decision about the call at hand, with a plan that uses no memory of nodes.
  [[nodiscard]] Decision without_nodes(const Decision& decision, const Problem& problem);
  /// Notes that a call of the class took `inside` seconds on this rank, overhead included, and the
  /// MPI library's own collective `library` of them, 0 if a plan was executed. Not for calls that
  /// rank 0 announced. Returns true as watched() does.
  bool measured(CallClass& call_class, Seconds library, Seconds inside) const;
  /// Adopts rank 0's announced decision about the call at hand.
  void adopt(const Problem& problem, const Algorithm& row, Seconds predicted);
  /// A plan for a call like this one, made before it comes. Throws Error as make_plan() does.
  std::shared_ptr<const Plan> likely_plan(const Problem& problem);
  /// Learns from the call, which is over and watched: the durations known now, of it or of the call
  /// before, correct later decisions.
  void learn();
  /// Notes a call whose arrivals are not known.
  void miss();

  // --- Blocks of calls, see Decision::ends_block ---

  /// Notes when this rank was in a call of the class.
  static void note_inside(CallClass& call_class, const TimeInside& call) {
    if (call_class.blocks) call_class.blocks->last_calls.note(call);
  }
  /// Returns true if there is a class of this key.
  [[nodiscard]] bool knows(CallKey key) const { return classes_.contains(key); }
  /// The class whose block a call of the class belongs to: if rank 0 announced it another one.
  [[nodiscard]] CallClass& block_class(CallClass& call_class, bool announced);
  /// Notes that a block of the class is over, of which the ranks tell each other now.
  static void end_block(CallClass& call_class) { call_class.blocks->told = call_class.blocks->now; }
  /// Learns from the block that was over before the last one: all ranks have told of it.
  void learn_block(CallClass& call_class, const CallSeries& series);

  [[nodiscard]] const PlanCache& plans() const { return pricer_.plans(); }
  [[nodiscard]] const PlanningDone& planning_done() const { return pricer_.done(); }

 private:
  /// The choice made for a call.
  struct Selection {
    CallKey key = 0;
    const Algorithm* row = nullptr;
    // Of the candidate; empty: a rule chose.
    std::string name = {};  // NOLINT(readability-redundant-member-init): often left out
    Seconds predicted = 0;
    Belief::Arm arm = {};  // NOLINT(readability-redundant-member-init): often left out
    bool first = false;    // its first call: slower than the next ones
    bool unusual = false;  // a trial, no plan affordable yet, or a short call that is watched
    Seconds waiting = 0;   // for the last rank, the mean over the ranks; once arrivals are known
    std::optional<Taken> taken = {};  // NOLINT(readability-redundant-member-init)
  };

  /// A candidate of the call at hand.
  struct Pick {
    std::size_t place = 0;  // in candidates_
    Belief::Arm arm;
    bool trial = false;  // another one is expected to cost less now
  };
  struct How {
    bool announced = false;
    bool whole = false;  // calls are compared whole
  };

  [[nodiscard]] static bool worth_a_class(const Problem& problem);
  [[nodiscard]] std::optional<Decision> repeat(CallClass& call_class, const Problem& problem);
  [[nodiscard]] Decision choose(const Problem& problem, bool announced);
  [[nodiscard]] Decision choose_in_block(CallClass& call_class, const Problem& problem);
  void begin_block(CallClass& call_class, const Problem& problem);
  bool activate(CallClass& call_class, const Problem& problem, const Review& all);
  static std::uint64_t first_review(const Problem& problem);
  void judge(CallClass& call_class, Collective collective, const Review& all);
  static void leave_to_library(CallClass& call_class, std::uint64_t calls);
  void know(Collective collective, bool announced, bool nodes = true,
            const CallClass* of = nullptr);
  /// The network that the class's plans and prices assume.
  [[nodiscard]] const Network& network_of(const CallClass& call_class) const {
    return call_class.network ? *call_class.network : agreed_network();
  }
  void follow_network(CallClass& call_class, const Problem& problem);
  /// The network that calls of the collective are planned for.
  [[nodiscard]] const Network& network_of_plans(Collective collective) const;
  void drop_prices();
  void begin_wisely(CallClass& call_class) const;
  [[nodiscard]] RuleFacts facts(const std::vector<Seconds>& arrivals) const;
  [[nodiscard]] CallKey key_of(const Problem& problem) const;
  [[nodiscard]] const UserRule* rule_for(const Problem& problem,
                                         const std::vector<Seconds>& arrivals) const;
  [[nodiscard]] Decision decide_as(const Choice& choice, const Problem& problem, bool announced);
  [[nodiscard]] Decision decide_by_rule(const Choice& choice, const Problem& problem,
                                        bool announced);
  [[nodiscard]] Decision decide_at_random(Count seed, const Problem& problem, bool announced);
  [[nodiscard]] static bool waits_at_random(Count seed, const Problem& problem);
  [[nodiscard]] CallClass& announced_class_of(const Problem& problem);
  Decision leave_new_count(CallClass& call_class, Collective collective);
  [[nodiscard]] bool compares_whole_calls(const CallClass& call_class, Collective collective) const;
  [[nodiscard]] static Belief::Arm arm_of(CallClass& call_class, const Candidate& candidate);
  [[nodiscard]] std::vector<Belief::Arm> arms(CallClass& call_class) const;
  void learn_of_library(CallClass& call_class, const Belief::Arm& library) const;
  [[nodiscard]] Pick pick_balanced(CallClass& call_class) const;
  [[nodiscard]] Pick pick_by_belief(CallClass& call_class) const;
  [[nodiscard]] Decision watch_or_repeat(CallClass& call_class, const Problem& problem,
                                         const Pick& pick, How how);
  [[nodiscard]] std::uint64_t calls_between_watched(const CallClass& call_class, const Pick& pick,
                                                    const Problem& problem, bool whole) const;
  [[nodiscard]] std::uint64_t calls_between_exchanges(const CallClass& call_class, Seconds price,
                                                      const Problem& problem) const;
  [[nodiscard]] std::uint64_t calls_between_stamps(const CallClass& call_class, Seconds price,
                                                   const Plan& plan) const;
  void rest(CallClass& call_class, std::uint64_t every, bool observed);
  void repeat_decision(CallClass& call_class, const Candidate& chosen, std::uint64_t every);
  [[nodiscard]] static std::shared_ptr<const Plan> without_stamps(
      CallClass& call_class, const std::shared_ptr<const Plan>& plan);
  void note(const Selection& selection);
  void learn(const Selection& selection, std::optional<Seconds> cost);
  void forget_oldest();

  Rank me_;
  Rank ranks_;
  Policy policy_;
  std::optional<Network> agreed_;        // the network that all ranks last found to be set alike
  std::optional<NetworkBelief> wisdom_;  // of earlier jobs, about this network
  bool connected_ = false;
  StateHash state_hash_ = 0;
  bool skipped_ = false;
  std::uint64_t known_ = 0;
  std::map<CallKey, CallClass> classes_;
  CallKey learnt_ = 0;  // the class that was learnt about last
  std::uint64_t version_ = 0;
  std::uint64_t events_ = 0;
  Seconds spent_ = 0;      // seconds, by all reviewed calls
  bool one_node_ = false;  // all ranks share it
  Pricer pricer_;
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Watch> past_watch_;  // another communicator's
  std::vector<Seconds> expected_;
  // Calls with an algorithm that was set. Of announced ones rank 0 may be the only one that counts.
  std::uint64_t rooted_calls_ = 0;
  std::uint64_t announced_rooted_calls_ = 0;
  std::uint64_t drawn_calls_ = 0;
  std::uint64_t announced_drawn_calls_ = 0;
  Selection last_, before_;  // the duration of a call may be known only after the next one
  std::vector<Candidate> candidates_;  // for the call at hand: the library's, the balanced one, ...
  Choice drawn_;
  const Choice* ruled_ = nullptr;  // the choice for the call at hand, by a rule or drawn
};

}  // namespace latecomer
