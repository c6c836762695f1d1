// A rehearsal: a series of calls on the virtual network as a communicator of an MPI program makes
// them. Ranks learn of each other's arrivals, forecast the next ones, and choose, by the code that
// MPI programs run.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "choose/chooser.hpp"
#include "simulate/checked.hpp"
#include "simulate/simulate.hpp"

namespace latecomer {

class Rehearsal {
 public:
  struct Setting {
    Problem problem;
    Choice choice;                 // auto: chosen call by call
    std::optional<Choice> native;  // the model of the MPI library's own collective; none: `fastest`
    Network network;               // as it is
    Network assumed;               // by plans
    bool check = false;            // move data too, and compare results
    // Of the ranks on nodes, which share links and memory.
    // NOLINTNEXTLINE(readability-redundant-member-init)
    Placement placement = {};
  };
  struct Call {
    std::string algorithm;  // of the plan; "native" for the model of the library
    std::string parameters;
    std::vector<Seconds> expected;  // arrivals; empty: all together
    std::vector<Seconds> exits;     // on the call's own clock, one a rank
    std::optional<Count> wrong;     // elements of the results; none: not checked
  };

  /// Throws Error for a choice that does not take the problem.
  explicit Rehearsal(Setting setting);

  [[nodiscard]] const Setting& setting() const { return setting_; }

  /// Runs one call in which the ranks arrive at these times, seconds, one per rank. `given`: the
  /// arrivals that the program predicts; null: they are forecast from earlier calls. `seed`: of the
  /// network's jitter. Throws Error if the times do not fit, std::runtime_error if a rank gets
  /// stuck or ranks disagree.
  Call call(const std::vector<Seconds>& arrivals, const std::vector<Seconds>* given,
            std::uint64_t seed);

 private:
  /// The durations of a call on the ranks.
  struct Inside {
    Seconds min = 0;
    Seconds max = 0;
  };

  [[nodiscard]] bool automatic() const { return setting_.choice.algorithm->name == "auto"; }
  void watch_arrivals();
  [[nodiscard]] Watch& watch(std::size_t rank) {
    return rank == 0 ? *chooser_.watch() : watches_[rank - 1];
  }
  [[nodiscard]] const std::vector<Seconds>& expect();
  [[nodiscard]] Plan native_plan() const;
  Simulation run(const Plan& plan, const std::vector<Seconds>& arrivals, Call* checked);
  void only_watch(Call& call, CallClass* call_class, const std::vector<Seconds>& arrivals);
  [[nodiscard]] static Inside inside_of(const Call& call, const std::vector<Seconds>& arrivals);
  void note(Reviewed by, const Inside& inside);
  [[nodiscard]] Review review() const;
  void follow(Call& call, const Decision& decision, CallClass* call_class,
              const std::vector<Seconds>& arrivals);
  void run_with_piggyback(Call& call, const Plan& plan, const std::vector<Seconds>& arrivals);
  void exchange_afterwards(Call& call, const std::vector<Seconds>& arrivals);

  Setting setting_;
  Chooser chooser_;            // rank 0's; the other ranks' forecasts are compared with it
  std::deque<Watch> watches_;  // of the other ranks
  std::array<std::deque<Inside>, 2> durations_;  // of the last calls, by kind
  std::vector<Piggyback*> piggybacks_;
  SimulationOptions options_;
  Seconds clock_ = 0;  // when the last call was over
};

}  // namespace latecomer
