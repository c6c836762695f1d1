#include "commands/simgrid/report.hpp"

#include <simgrid/engine.h>
#include <simgrid/version.h>

#include <array>
#include <cstdio>

#include "base/json.hpp"
#include "base/parse.hpp"

namespace latecomer {
namespace {

std::string moment(Seconds time) { return time < 0 ? "null" : format_number(time); }

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

}  // namespace latecomer
