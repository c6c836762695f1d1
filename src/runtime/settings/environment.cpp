#include "runtime/settings/environment.hpp"

#include <cstdlib>
#include <mutex>
#include <set>

#include "base/error.hpp"
#include "runtime/report/log.hpp"

namespace latecomer {
namespace {

/// True on the rank that reports for the job. Programs with MPI sessions only have no
/// MPI_COMM_WORLD, and get no reports.
bool speaks_for_job() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0;
}

struct Unused {
  std::mutex guard;
  std::set<std::string> variables;
};

Unused& unused() {
  static auto& all = *new Unused;  // communicators may be used after static objects
  return all;
}

}  // namespace

std::optional<std::string> environment(const char* variable) {
  const char* const value = secure_getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

bool environment_flag(const char* variable) {
  const std::string text = environment(variable).value_or("0");
  if (text == "0" || text == "1") return text == "1";
  report_unused(variable, Error("value", text, "0 or 1").what());
  return false;
}

bool is_used(const char* variable) {
  const std::lock_guard lock(unused().guard);
  return environment(variable) && !unused().variables.contains(variable);
}

void report_unused(const char* variable, const std::string& why) {
  const std::lock_guard lock(unused().guard);
  if (!unused().variables.insert(variable).second || !speaks_for_job()) return;
  log_line(std::string(variable) + " is not used: " + why);
}

}  // namespace latecomer
