// A rehearsal: a series of calls on the virtual network as a communicator of an MPI program makes
// them. Ranks learn of each other's arrivals, forecast the next ones, and choose, by the code that
// MPI programs run.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "choose/chooser.hpp"
#include "choose/pricer.hpp"
#include "simulate/elements.hpp"
#include "simulate/simulate.hpp"

namespace latecomer {

/// The seconds that finding out takes on each rank in a rehearsal. They are charged to the calls.
struct Charges {
  /// By the name of a row; `other` for rows that are not named.
  struct ByRow {
    std::map<std::string, Seconds, std::less<>> of;
    Seconds other = 0;
  };

  Seconds connect = 0;  // making the resources of the communicator, once
  Seconds look = 0;     // expecting arrivals, deciding and learning, without plans and prices
  ByRow plan;           // making a plan, and building a rank's program
  ByRow price;          // pricing a plan for given arrivals

  /// Returns the seconds of the planning that was done between two moments.
  [[nodiscard]] Seconds of(const PlanningDone& before, const PlanningDone& now) const;
};

class Rehearsal {
 public:
  struct Setting {
    Problem problem;
    Choice choice;                 // auto: chosen call by call, by price or at random
    std::optional<Choice> native;  // the model of the MPI library's own collective; none: `fastest`
    Network network;               // as it is
    Network assumed;               // by plans
    bool check = false;            // move data too, and compare results
    // Of the ranks on nodes, which share links and memory.
    // NOLINTNEXTLINE(readability-redundant-member-init)
    Placement placement = {};
    // A named algorithm that does not depend on arrivals runs as if nothing else were there:
    // without stamps, exchanges and forecasts.
    bool plain = false;
    // The times of finding out; reviews take theirs on the network. None: nothing but stamps and
    // exchanges takes time.
    // NOLINTNEXTLINE(readability-redundant-member-init)
    std::optional<Charges> charges = {};
    // Learnt of the assumed network by an earlier job.
    // NOLINTNEXTLINE(readability-redundant-member-init)
    std::optional<NetworkBelief> wisdom = {};
    double cold = 1;  // a call by another algorithm than the last one's takes so many times longer
  };
  /// How many times longer a call takes than on the network, and when it was.
  struct Pace {
    double network = 1;
    double library = 1;  // more, for the MPI library's own collective
    /// Since the first call: of time 0 of its arrivals; none: when the last call was over.
    std::optional<Seconds> began = {};  // NOLINT(readability-redundant-member-init)
    LinksBefore links = {};             // NOLINT(readability-redundant-member-init)
  };
  struct Call {
    std::string algorithm;  // of the plan; "native" for the model of the library
    std::string parameters;
    std::vector<Seconds> expected;  // arrivals; empty: all together
    std::vector<Seconds> exits;     // on the call's own clock, one a rank
    std::optional<Count> wrong;     // elements of the results; none: not checked
    // By which finding out delayed the last exit: charges, exchanges and reviews.
    Seconds finding_out = 0;
  };

  /// Throws Error for a choice that does not take the problem.
  explicit Rehearsal(Setting setting);

  [[nodiscard]] const Setting& setting() const { return setting_; }

  /// Runs one call in which the ranks arrive at these times, seconds, one per rank. `given`: the
  /// arrivals that the program predicts; null: they are forecast from earlier calls. `seed`: of the
  /// network's jitter. Throws Error if the times do not fit, std::runtime_error if a rank gets
  /// stuck or ranks disagree.
  Call call(const std::vector<Seconds>& arrivals, const std::vector<Seconds>* given,
            std::uint64_t seed, Pace pace);
  Call call(const std::vector<Seconds>& arrivals, const std::vector<Seconds>* given,
            std::uint64_t seed) {
    return call(arrivals, given, seed, Pace{});
  }
  /// The next calls are of another problem of the same collective and ranks, for which the MPI
  /// library is modelled by `native`. Throws Error as the constructor does.
  void change(const Problem& problem, const std::optional<Choice>& native);
  /// Returns what the calls so far have shown of the assumed network; none: nothing.
  [[nodiscard]] std::optional<NetworkBelief> network_learnt() const {
    return chooser_.network_learnt();
  }

 private:
  /// The durations of a call on the ranks.
  struct Inside {
    Seconds min = 0;
    Seconds max = 0;
  };

  using Durations = std::array<std::deque<Inside>, 2>;  // of the last calls, by kind

  [[nodiscard]] bool automatic() const { return is_automatic(setting_.choice); }
  /// Returns true if the calls are the MPI library's, which nobody looks at.
  [[nodiscard]] static bool library_alone(const Setting& setting) {
    return setting.plain && is_native(*setting.choice.algorithm);
  }
  static void check(const Setting& setting);
  void watch_arrivals();
  [[nodiscard]] Watch& watch(std::size_t rank) {
    return rank == 0 ? *chooser_.watch() : watches_[rank - 1];
  }
  void check_expected();
  [[nodiscard]] static Plan native_plan(const Setting& setting);
  Simulation run(const Plan& plan, const std::vector<Seconds>& arrivals, Call* checked);
  void run_call(Call& call, const Plan& plan, const std::vector<Seconds>& arrivals);
  void meet(double slower);
  [[nodiscard]] Seconds charge_planning();
  [[nodiscard]] Seconds charge_connecting();
  static void delay(Call& call, Seconds seconds);
  void exchange_durations(Call& call);
  void only_watch(Call& call, CallClass* call_class, const std::vector<Seconds>& arrivals);
  [[nodiscard]] static Inside inside_of(const Call& call, const std::vector<Seconds>& arrivals);
  static void note(Durations& durations, Reviewed by, const Inside& inside);
  [[nodiscard]] bool reviewed(Call& call, CallClass& call_class);
  void follow(Call& call, const Decision& decision, CallClass* call_class,
              const std::vector<Seconds>& arrivals, Seconds deciding);
  void run_with_piggyback(Call& call, const Plan& plan, const std::vector<Seconds>& arrivals,
                          Seconds deciding);
  void exchange_afterwards(Call& call, const std::vector<Seconds>& arrivals, Seconds deciding);
  void note_inside(const CallClass& call_class, const Call& call,
                   const std::vector<Seconds>& arrivals);
  void end_block(Call& call, CallClass& call_class);

  Setting setting_;
  Chooser chooser_;            // rank 0's; the other ranks' forecasts are compared with it
  std::deque<Watch> watches_;  // of the other ranks
  std::map<CallKey, Durations> durations_;  // of the last calls, by class
  /// Of a class: the calls of the block at hand, by rank, and what ranks have told of the one
  /// before.
  struct Told {
    std::vector<LastCalls> now;
    std::optional<CallSeries> told;
    Seconds known = 0;  // when all ranks have heard it
  };
  std::map<CallKey, Told> blocks_;
  std::vector<Piggyback*> piggybacks_;
  SimulationOptions options_;
  Pace pace_;
  std::string last_algorithm_;
  PlanningDone charged_;  // the planning that was charged
  bool connected_ = false;
  bool watched_ = false;
  Seconds clock_ = 0;  // at time 0 of the call at hand
};

}  // namespace latecomer
