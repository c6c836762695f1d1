// The checks can fail: each must find the fault that is made for it, and nothing else.
#include <iostream>

#include "worlds/world.hpp"

namespace latecomer::worlds {
namespace {

struct Case {
  const char* broken;  // World::broken
  const char* fault;   // part of the message; nullptr: all is right
};

constexpr Case kCases[] = {
    {"", nullptr},
    {"error", ": error: "},
    {"data", ": wrong data"},
    {"bits", ": other bits than another rank"},
    {"decision", " where another rank has "},
    {"message", "leaves 1 message of 4 B"},
    {"receive", "leaves 1 receives"},
    {"group", "leaves 1 groups"},
    {"datatype", "leaves 1 datatypes"},
    {"communicator", " communicators"},
    {"stuck", "stuck: rank 0 in MPI_Irecv"},
    {"late", "an hour of the world's time is over"},
    {"barrier", " where others call MPI_"},
    {"silence", "rank 0: waits in step 2, and says nothing"},
};

World two_calls(const std::string& broken) {
  World world;
  world.ranks = 4;
  world.broken = broken;
  const Step step{Kind::allreduce, 0, 100, 1, 0, std::vector<Time>(world.ranks)};
  world.steps = {step, step};
  if (broken == "silence") {
    world.dies = 3;  // so that reports are checked; the rank ends before this step
    world.dies_before = 2;
  }
  return world;
}

}  // namespace

bool self_test() {
  bool good = true;
  for (const auto& [broken, fault] : kCases) {
    const auto faults = play(two_calls(broken)).faults;
    bool found = fault == nullptr ? faults.empty() : false;
    for (const auto& each : faults) {
      found = found || (fault != nullptr && each.find(fault) != std::string::npos);
    }
    if (found) continue;
    good = false;
    std::cout << "fault '" << broken << "' is not found; found instead:\n";
    for (const auto& each : faults) std::cout << "  " << each << '\n';
  }
  return good;
}

}  // namespace latecomer::worlds
