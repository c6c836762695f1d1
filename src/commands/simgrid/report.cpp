#include "commands/simgrid/report.hpp"

#include <simgrid/engine.h>
#include <simgrid/version.h>

#include <array>
#include <cstdio>

#include "base/parse.hpp"

namespace latecomer {
namespace {

std::string escaped(char c) {
  if (c == '"' || c == '\\') return {'\\', c};
  if (static_cast<unsigned char>(c) >= ' ') return {c};
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "\\u%04x", static_cast<unsigned>(c));
  return text.data();
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += escaped(c);
  return out + '"';
}

std::string moment(Seconds time) { return time < 0 ? "null" : format_number(time); }

template <class Range, class Convert>
std::string list(const Range& range, Convert convert) {
  std::string text = "[";
  for (const auto& item : range) text += (text.size() == 1 ? "" : ",") + convert(item);
  return text + ']';
}

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
  return "{\"simgrid\":" + quoted(simgrid_version()) + ",\"hosts\":" + list(hosts, quoted) +
         ",\"arrivals\":" + list(simulation.arrivals, moment) +
         ",\"exits\":" + list(simulation.exits, moment) +
         ",\"failure\":" + quoted(simulation.failure) +
         ",\"wrong\":" + (wrong ? std::to_string(*wrong) : "null") + '}';
}

}  // namespace latecomer
