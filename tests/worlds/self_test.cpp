// The checks can fail: each must find the fault that is made for it, and nothing else.
#include <iostream>

#include "worlds/calls.hpp"
#include "worlds/world.hpp"

namespace latecomer::worlds {
namespace {

struct Case {
  const char* broken;  // World::broken
  const char* fault;   // part of the message; nullptr: all is right
};

constexpr Case kCases[] = {
    {"", nullptr},
    {"refused before a wait", nullptr},
    {"refused after a wait", nullptr},
    {"error", ": error: "},
    {"data", ": wrong data"},
    {"bits", ": other bits than another rank"},
    {"decision", " where another rank has "},
    {"message", "leaves 1 message of 4 B"},
    {"receive", "leaves 1 receives"},
    {"group", "leaves 1 groups"},
    {"datatype", "leaves 1 datatypes"},
    {"communicator", " communicators"},
    {"memory", " B of memory in "},
    {"refused", "wrong arguments are not refused"},
    {"exception", "an exception leaves the library"},
    {"stuck", "stuck: rank 0 in MPI_Irecv"},
    {"late", "an hour of the world's time is over"},
    {"barrier", " where others call MPI_"},
    {"requests", nullptr},
    {"order", ": wrong data"},
    {"silence", "rank 0: waits in step 2, and says nothing"},
};

constexpr Case kDropinCases[] = {
    {"", nullptr},
    {"data", ": wrong data"},
    {"decision", " where another rank has "},
    {"message", "leaves 1 message of 4 B"},
    {"inactive", "ranks say 1 times that the library is inactive"},
};

World two_calls(const std::string& broken) {
  World world;
  world.ranks = 4;
  world.hosts = {0, 1, 2, 3};
  world.broken = broken;
  const Step step{Kind::allreduce, 0, 100, 1, 0, std::vector<Time>(world.ranks)};
  world.steps = {step, step};
  if (broken.starts_with("refused")) world.steps[0].wrong = Wrong::negative;
  if (broken.ends_with("a wait")) {  // so long that the others ask
    world.algorithm = "auto:random=2";
    world.steps.insert(world.steps.begin(), step);
    world.steps[broken == "refused after a wait" ? 1 : 2].compute[0] = 40 * kSecond;
  }
  if (broken == "order" || broken == "requests") {
    world.steps[0].request = 0;
    world.steps[1].request = 1;
    world.steps.push_back({.kind = Kind::wait, .comm = 0, .compute = step.compute});
  }
  if (broken == "silence") {
    world.dies = 3;  // so that reports are checked; the rank ends before this step
    world.dies_before = 2;
  }
  return world;
}

/// The memory that the library holds on a rank after so many equal calls.
std::size_t held_after(int calls, const std::string& broken) {
  World world = two_calls(broken);
  world.steps.resize(calls, world.steps[0]);
  return play(world).held;
}

/// A rank comes to hold a byte or more for each call.
bool memory_grows(const std::string& broken) {
  constexpr int kCalls = 4000;
  const std::size_t before = held_after(kCalls, broken);
  const std::size_t after = held_after(2 * kCalls, broken);
  if (after < before + kCalls) return false;
  if (broken.empty())
    std::cout << "a rank's memory grows from " << before << " to " << after << " B\n";
  return true;
}

bool finds(const Case& one, const World& world) {
  const auto& [broken, fault] = one;
  const auto faults = play(world).faults;
  bool found = fault == nullptr && faults.empty();
  for (const auto& each : faults) {
    found = found || (fault != nullptr && each.find(fault) != std::string::npos);
  }
  if (found) return true;
  std::cout << "fault '" << broken << "' is not found; found instead:\n";
  for (const auto& each : faults) std::cout << "  " << each << '\n';
  return false;
}

/// Otherwise all would be on the machine that plays the worlds.
bool asks_for_machine(World world) {
  world.algorithm = "ring";
  world.environment = {"LATECOMER_MIN_BYTES=0"};
  if (play(world).apart) return true;
  std::cout << "no rank asks this MPI's machine for its name\n";
  return false;
}

bool test_with_dropin() {
  bool good = true;
  for (const Case& each : kDropinCases) {
    World world = two_calls(each.broken);
    world.dropin = true;
    world.spellings.resize(world.ranks);
    world.begins.resize(world.ranks);
    if (!finds(each, world)) good = false;
    if (world.broken.empty() && !asks_for_machine(world)) good = false;
  }
  return good;
}

}  // namespace

bool self_test() {
  if (!has_kind("started")) return test_with_dropin();
  bool good = asks_for_machine(two_calls(""));
  for (const Case& each : kCases) {
    if (!finds(each, two_calls(each.broken))) good = false;
  }
  if (!memory_grows("growth")) {
    good = false;
    std::cout << "memory that grows by a byte a call is not found\n";
  }
  return !memory_grows("") && good;
}

}  // namespace latecomer::worlds
