// latecomer_simgrid: one collective call as SimGrid actors. A program of its own, since SimGrid's
// engine belongs to the process and can be started once. Exits with 0 if a result was printed,
// whatever it says, and with 2 if the arguments or the platform cannot be used.
#include <simgrid/engine.h>
#include <simgrid/version.h>

#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/json.hpp"
#include "base/parse.hpp"
#include "base/text.hpp"
#include "options.hpp"
#include "simulate.hpp"
#include "simulate/elements.hpp"
#include "simulate/simulate.hpp"

namespace latecomer {

// The output of latecomer_simgrid.

/// One line of JSON: arrivals and exits in seconds, with all their digits; an exit of null: never.
/// `hosts`: each rank's. `wrong`: elements, if they were checked.
[[nodiscard]] std::string simgrid_report(const Simulation& simulation,
                                         const std::vector<std::string>& hosts,
                                         std::optional<Count> wrong);
/// The version of the linked library, as in "3.32.0".
[[nodiscard]] std::string simgrid_version();

namespace {

std::string moment(Seconds time) { return time == kNever ? "null" : format_number(time); }

}  // namespace

std::string simgrid_version() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  sg_version_get(&major, &minor, &patch);
  return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
}

std::string simgrid_report(const Simulation& simulation, const std::vector<std::string>& hosts,
                           std::optional<Count> wrong) {
  return "{\"simgrid\":" + json_quoted(simgrid_version()) +
         ",\"hosts\":" + json_list(hosts, json_quoted) +
         ",\"arrivals\":" + json_list(simulation.arrivals, moment) +
         ",\"exits\":" + json_list(simulation.exits, moment) +
         ",\"failure\":" + json_quoted(simulation.failure) +
         ",\"wrong\":" + (wrong ? std::to_string(*wrong) : "null") + '}';
}

namespace {

/// The nodes of the ranks; empty: each has its own.
Placement placement_of(const SimGridCommand& command) {
  const Rank ranks = command.problem.ranks;
  Placement all = command.placement.empty() ? consecutive_placement(ranks, command.per_node)
                                            : parse_placement(command.placement, ranks);
  if (!shares_nodes(all)) all.clear();
  return all;
}

Executors parties_for(SimGridCommand& command) {
  if (!command.schedule.empty()) {
    const Schedule schedule = parse_schedule(read_file("--schedule", command.schedule));
    command.problem = schedule.plan.problem;
    if (command.placement.empty()) command.plan_placement = schedule.plan.placement;
    return executors_of(schedule.programs,
                        command.network.eager_elements(command.problem.element_bytes));
  }
  const Choice choice = parse_choice(command.problem.collective, command.algorithm);
  const auto& known = command.estimate.empty() ? command.arrivals : command.estimate;
  Knowledge knowledge{known, command.network};
  knowledge.placement = placement_of(command);
  return make_executors(make_plan(*choice.algorithm, command.problem, choice.parameters, knowledge),
                        command.network);
}

std::vector<std::string> names(const std::vector<simgrid::s4u::Host*>& hosts) {
  std::vector<std::string> all;
  for (const auto* host : hosts) all.emplace_back(host->get_cname());
  return all;
}

void run(const simgrid::s4u::Engine& simgrid, const SimGridPlatform& platform,
         SimGridCommand& command) {
  const Executors executors = parties_for(command);
  Placement nodes = command.plan_placement;
  if (!command.placement.empty()) {
    nodes = parse_placement(command.placement, command.problem.ranks);
  }
  const auto hosts = nodes.empty() ? platform.place(command.problem.ranks, command.per_node)
                                   : platform.place(nodes);
  SimulationOptions options;
  options.network = command.network;
  options.arrivals = command.arrivals;
  options.element_bytes = command.problem.element_bytes;
  std::optional<CheckedMemory> check;
  if (command.check) {
    options.memory = check.emplace(command.problem, executors, command.seed).memory();
  }
  const Simulation result = simulate_on_simgrid(simgrid, hosts, executors, options);
  const auto wrong = check ? std::optional(check->wrong()) : std::nullopt;
  std::puts(simgrid_report(result, names(hosts), wrong).c_str());
}

int run_or_explain(int argc, char** argv) try {
  SimGridCommand command = parse_simgrid_command(argc, argv);
  if (command.help || command.version) {
    std::puts(command.help ? kSimGridUsage : simgrid_version().c_str());
    return 0;
  }
  simgrid::s4u::Engine simgrid(&argc, argv);
  const SimGridPlatform platform(simgrid, command.platform);
  run(simgrid, platform, command);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "latecomer_simgrid: %s\n", printable(error.what()).c_str());
  return 2;
}

}  // namespace
}  // namespace latecomer

int main(int argc, char** argv) { return latecomer::run_or_explain(argc, argv); }
