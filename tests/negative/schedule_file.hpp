// The schedules in text form that are committed in this folder.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "schedule/program.hpp"

namespace latecomer::testing {

/// The schedule that breaks the rule.
inline Schedule broken_schedule(std::string_view rule) {
  const std::string name = std::string(rule) + ".txt";
  std::ostringstream text;
  text << std::ifstream(std::string(LATECOMER_TEST_DATA) + "/negative/" + name).rdbuf();
  return parse_schedule(text.str());
}

}  // namespace latecomer::testing
