#include "worlds/world.hpp"

#include <algorithm>
#include <sstream>

#include "worlds/calls.hpp"
#include "worlds/findings.hpp"
#include "worlds/rank.hpp"

namespace latecomer::worlds {
namespace {

Globals& library() {
  static Globals found(library_under_test());
  return found;
}

/// The settings that one rank has beside those of all.
constexpr const char* kOther = "LATECOMER_REPRODUCIBLE=1";
bool asks_wrongly(const World& world) {
  return std::any_of(world.steps.begin(), world.steps.end(),
                     [](const Step& step) { return step.wrong != Wrong::none; });
}

/// The ranks take the drop-in library into use together, or one of them says why they do not.
void check_activity(const World& world, const std::string& said, Findings& findings) {
  constexpr const char* kSaid = "latecomer: inactive, the MPI library carries out all calls: ";
  int times = 0;
  for (auto at = said.find(kSaid); at != std::string::npos; at = said.find(kSaid, at + 1)) ++times;
  const auto& all = world.environment;
  const bool differ =
      world.other_settings >= 0 && std::find(all.begin(), all.end(), kOther) == all.end();
  const bool must = world.without >= 0 || differ;
  const int least = must ? 1 : 0;
  const int most = world.begins_apart() ? 2 : least;  // a late rank cannot know what was said
  if (least <= times && times <= most) return;
  findings.fault("ranks say " + std::to_string(times) + " times that the library is inactive");
}

/// Not all ranks came to their end.
void check_waiting(const World& world, End end, const Scheduler& scheduler, const MpiState& state,
                   Findings& findings) {
  if (world.dies >= 0) {
    check_reports(scheduler, state, findings);
    return;
  }
  // Before ranks are linked, one that lacks memory cannot tell the others (decision 45).
  if (world.shortage.resource == Resource::heap && failed_requests() > 0) return;
  if (asks_wrongly(world) && world.algorithm != "native") {
    // A rank that is missing is named, or the MPI library alone would wait too.
    if (check_reports(scheduler, state, findings) > 0) return;
    if (findings.broken || !play(left_to_mpi(world)).ended) return;
  }
  std::ostringstream text;
  text << (end == End::stuck ? "stuck" : "an hour of the world's time is over") << ":";
  for (int rank = 0; rank < world.ranks; ++rank) {
    if (scheduler.ended(rank)) continue;
    text << " rank " << rank << " in " << state.ranks[rank].last_call << " of step "
         << findings.at[rank] << ";";
  }
  findings.fault(text.str());
}

}  // namespace

bool World::begins_apart() const {
  constexpr Time kPatience = 5 * kSecond;  // of the library
  const auto [first, last] = std::minmax_element(begins.begin(), begins.end());
  return first != begins.end() && *last - *first > kPatience;
}

World left_to_mpi(World world) {
  world.algorithm = "native";
  world.online = false;
  return world;
}

Outcome play(const World& world) {
  Findings findings(world);
  begin_heaps(world.ranks);
  Scheduler scheduler(world.ranks, library(), world.seed);
  MpiState state(scheduler, world.net, world.ranks);
  set_here(&state);
  std::vector<Rank> ranks;
  ranks.reserve(world.ranks);
  for (int rank = 0; rank < world.ranks; ++rank) {
    ranks.emplace_back(world, rank, scheduler, findings);
    const int host = world.hosts[rank];
    state.ranks[rank].host = "host" + std::to_string(host);
    state.ranks[rank].machine = world.one_machine ? "machine" : state.ranks[rank].host;
    auto environment = world.environment;
    if (world.dropin) environment.push_back("LATECOMER_ALGORITHM=" + world.algorithm);
    if (!world.traces.empty()) environment.push_back("LATECOMER_TRACE=" + world.traces);
    if (!world.traces.empty() && world.dropin) {
      environment.push_back("LATECOMER_SUMMARY=" + world.traces + ".json");
    }
    if (rank == world.other_settings) environment.emplace_back(kOther);
    scheduler.start(rank, [&ranks, rank] { ranks[rank].live(); }, environment);
    if (!world.drifts.empty()) scheduler.set_clock(rank, kSecond * (host + 1), world.drifts[host]);
  }
  // An hour for a world that ends; what is said about a missing rank is said within minutes.
  const bool waits = world.dies >= 0 || asks_wrongly(world);
  const End end = scheduler.run((waits ? 600 : 3600) * kSecond);
  findings.outcome.messages = state.messages;
  findings.outcome.failed = failed_requests();
  findings.outcome.ended = end == End::all;
  for (const RankState& each : state.ranks) findings.outcome.apart |= each.identified;
  findings.outcome.said = scheduler.said();
  for (int rank = 0; rank < world.ranks; ++rank) {
    findings.outcome.took = std::max(findings.outcome.took, scheduler.clock(rank));
  }
  for (const auto& fault : state.faults) findings.fault(fault);
  if (!world.traces.empty()) write_truth(world, scheduler, findings);
  if (world.dropin && end == End::all) check_activity(world, scheduler.said(), findings);
  if (end != End::all) {
    check_waiting(world, end, scheduler, state, findings);
  } else if (world.dies < 0 && findings.outcome.told == 0 && !findings.any_excused()) {
    const bool missed = scheduler.said().find("did not come to link ranks") != std::string::npos;
    check_remains(state,
                  1 + std::count_if(world.steps.begin(), world.steps.end(),
                                    [](const Step& each) { return each.kind == Kind::split; }),
                  missed || world.net.slow_one_in > 0, findings);
  }
  return findings.outcome;
}

}  // namespace latecomer::worlds
