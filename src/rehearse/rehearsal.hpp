// A series of calls on the virtual network as a communicator of an MPI program makes them: ranks
// tell each other when they arrived, expect the next call to be like earlier ones, and choose, by
// the code that does so in MPI programs.
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
  /// How long the ranks were in a call.
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
  Chooser chooser_;            // rank 0's; what the others expect is compared with it
  std::deque<Watch> watches_;  // of the other ranks
  std::array<std::deque<Inside>, 2> durations_;  // of the last calls, by how they were served
  std::vector<Piggyback*> piggybacks_;
  SimulationOptions options_;
  Seconds clock_ = 0;  // when the last call was over
};

}  // namespace latecomer
