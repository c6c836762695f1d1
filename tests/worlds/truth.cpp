// The truth of a world, beside its traces.
#include <fstream>

#include "worlds/findings.hpp"
#include "worlds/heap.hpp"

namespace latecomer::worlds {

void write_truth(const World& world, const Scheduler& scheduler, const Findings& findings) {
  const auto& outcome = findings.outcome;
  std::ofstream file(world.traces + ".truth");
  bool wrong = false;  // ranks may make calls that do not fit
  for (const Step& step : world.steps) wrong = wrong || step.wrong != Wrong::none;
  // Calls or files may be missing.
  const bool faulty = wrong || world.dies >= 0 || failed_requests() > 0 || !outcome.ended;
  file << "{\"faulty\": " << (faulty ? "true" : "false")
       << ", \"wrong\": " << (wrong ? "true" : "false")
       << ", \"said\": " << (outcome.said.empty() ? "false" : "true")
       << ", \"ranks\": " << world.ranks << ", \"calls\": [";
  const char* between = "\n";
  for (const TrueCall& call : findings.calls) {
    const Time exit = call.exit < 0 ? call.exit : scheduler.shown(0, call.exit);
    file << between << '[' << call.rank << ", " << call.step << ", \"" << call.name << "\", "
         << call.comm << ", " << call.size << ", " << scheduler.shown(0, call.enter) << ", " << exit
         << ", " << call.code << ']';
    between = ",\n";
  }
  file << "]}\n";
}

}  // namespace latecomer::worlds
