// A series of calls on the virtual network as a communicator of an MPI program makes them: ranks
// tell each other when they arrived, expect the next call to be like earlier ones, and choose.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "select/last_choices.hpp"
#include "simulate/checked.hpp"
#include "simulate/simulate.hpp"
#include "telemetry/watch.hpp"

namespace latecomer {

class Rehearsal {
 public:
  struct Setting {
    Problem problem;
    Choice choice;                 // auto: chosen call by call
    std::optional<Choice> native;  // what the MPI library's own collective does; none: as `fastest`
    Network network;               // as it is
    Network assumed;               // as plans believe it to be
    bool check = false;            // move data too, and compare results
  };
  struct Call {
    std::string algorithm;  // of the plan; "native" for what stands for it
    std::string parameters;
    std::vector<Seconds> expected;  // arrivals that it was planned for; empty: all together
    std::vector<Seconds> exits;     // on the call's own clock, one a rank
    std::optional<Count> wrong;     // elements of the results; none: not checked
  };

  /// Throws Error for a choice that does not take the problem.
  explicit Rehearsal(Setting setting);

  [[nodiscard]] const Setting& setting() const { return setting_; }

  /// All ranks arrive at these times, seconds, one entry a rank. `given`: what the program says of
  /// them; null: they are expected as earlier calls showed them. `seed`: of the network's jitter.
  /// Throws Error if the times do not fit, std::runtime_error if a rank gets stuck or ranks
  /// disagree.
  Call call(const std::vector<Seconds>& arrivals, const std::vector<Seconds>* given,
            std::uint64_t seed);

 private:
  [[nodiscard]] bool automatic() const { return setting_.choice.algorithm->name == "auto"; }
  [[nodiscard]] std::vector<Seconds> expect();
  [[nodiscard]] Plan native_plan() const;
  Simulation run(const Plan& plan, const std::vector<Seconds>& arrivals, Call* checked);
  Plan plan_of(Call& call, const Algorithm& row) const;
  /// What tells nobody of arrivals on its way: they are told afterwards, if at all.
  void run_apart(Call& call, const Plan& plan, const std::vector<Seconds>& arrivals, bool tell);
  void run_program(Call& call, const Algorithm& row, const std::vector<Seconds>& arrivals);
  void learn();

  Setting setting_;
  std::deque<Watch> watches_;  // one a rank
  std::vector<Courier*> couriers_;
  Selector selector_;
  LastChoices chosen_;
  std::uint64_t rooted_calls_ = 0;
  SimulationOptions options_;
  Seconds clock_ = 0;  // when the last call was over
};

}  // namespace latecomer
