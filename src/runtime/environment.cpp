#include "runtime/environment.hpp"

#include <cstdlib>
#include <mutex>
#include <set>

#include "base/error.hpp"
#include "runtime/log.hpp"

namespace latecomer {

bool environment_flag(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return false;
  const std::string text(value);
  if (text == "0" || text == "1") return text == "1";
  report_unused(variable, Error("value", text, "0 or 1").what());
  return false;
}

void report_unused(const char* variable, const std::string& why) {
  static std::mutex guard;
  static std::set<std::string> told;
  const std::lock_guard lock(guard);
  if (told.insert(variable).second) log_line(std::string(variable) + " is not used: " + why);
}

}  // namespace latecomer
