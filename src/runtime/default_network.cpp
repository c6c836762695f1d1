#include "runtime/default_network.hpp"

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "runtime/environment.hpp"

namespace latecomer {
namespace {

constexpr const char* kVariable = "LATECOMER_NETWORK";

/// The lines of a file that say something.
std::vector<std::string> content_of(const std::string& name) {
  std::ifstream file(name);
  if (!file) throw Error("network file", name, "a file that can be read");
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(file, line)) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (!line.empty() && line.front() != '#') lines.push_back(line);
  }
  return lines;
}

}  // namespace

Network read_network(std::string_view text) {
  if (text.empty() || text.front() != '@') return parse_network(text);
  const std::string name(text.substr(1));
  const std::vector<std::string> lines = content_of(name);
  if (lines.size() != 1) {
    throw Error("network file " + name, std::to_string(lines.size()) + " lines with costs",
                "one, as in alpha=50us,beta=8ns");
  }
  return parse_network(lines.front());
}

Network default_network() {
  const char* const text = std::getenv(kVariable);
  if (text == nullptr) return {};
  try {
    return read_network(text);
  } catch (const Error& error) {
    report_unused(kVariable, error.what());
    return {};
  }
}

}  // namespace latecomer
