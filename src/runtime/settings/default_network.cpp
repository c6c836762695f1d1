#include "runtime/settings/default_network.hpp"

#include <string>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "runtime/settings/default_rules.hpp"
#include "runtime/settings/environment.hpp"
#include "runtime/settings/small_file.hpp"

namespace latecomer {
namespace {

constexpr const char* kNetworkVariable = "LATECOMER_NETWORK";
constexpr std::size_t kMaxBytes = 64 << 10;

/// The content may be a secret, where the name of the file is not the user's: it is not shown.
Network parse_line(const std::string& file, std::size_t number, std::string_view line) try {
  return parse_network(line);
} catch (const Error& error) {
  throw Error(error.subject() + " in " + file, "line " + std::to_string(number), error.remedy());
}

/// Reads the only line that is neither empty nor a comment.
Network read_file(const std::string& name) {
  const std::string text = read_small_file("network file", name, kMaxBytes);
  std::size_t number = 0;
  std::size_t found = 0;
  Network network;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    if (line.empty() || line.front() == '#') continue;
    if (++found == 1) network = parse_line(name, number, line);
  }
  if (found == 1) return network;
  throw Error("network file " + name, std::to_string(found) + " lines with costs",
              "one, as in alpha=50us,beta=8ns");
}

}  // namespace

Network read_network(std::string_view text) {
  if (text.empty() || text.front() != '@') return parse_network(text);
  return read_file(std::string(text.substr(1)));
}

Network default_network() {
  if (const auto text = environment(kNetworkVariable)) {
    try {
      if (text->front() == '@') return read_file(from_first_folder(text->substr(1)));
      return read_network(*text);
    } catch (const Error& error) {
      report_unused(kNetworkVariable, error.what());
    }
  }
  const auto rules = default_rules();
  return rules ? rules->network.value_or(Network{}) : Network{};
}

}  // namespace latecomer
