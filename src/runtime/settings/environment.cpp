#include "runtime/settings/environment.hpp"

#include <limits.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/threads.hpp"
#include "runtime/report/log.hpp"
#include "transports/mpi/communicators.hpp"

namespace latecomer {
namespace {

/// The begins of the names of variables that the library reads: its own, and those of launchers.
constexpr std::array<std::string_view, 6> kRead = {"LATECOMER", "OMPI_", "PMI",
                                                   "SLURM_",    "PBS_",  "LSB_"};

class Surroundings {
 public:
  void note() {
    const std::lock_guard hold(guard_);
    look();
  }
  [[nodiscard]] std::optional<std::string> variable(const char* name) {
    const std::lock_guard hold(guard_);
    if (!noted_) look();
    const auto found = variables_.find(name);
    if (found == variables_.end() || found->second.empty()) return std::nullopt;
    return found->second;
  }
  [[nodiscard]] std::string folder() {
    const std::lock_guard hold(guard_);
    if (!noted_) look();
    return folder_;
  }

 private:
  void look() {
    noted_ = true;
    keep_stderr();
    folder_.resize(PATH_MAX);  // not on the stack
    folder_ = getcwd(folder_.data(), folder_.size()) != nullptr ? folder_.c_str() : "";
    variables_.clear();
    if (getauxval(AT_SECURE) != 0) return;
    for (char* const* each = environ; each != nullptr && *each != nullptr; ++each) {
      const std::string_view entry = *each;
      const auto begins = [&](std::string_view with) { return entry.starts_with(with); };
      const std::size_t end = entry.find('=');
      if (end == std::string_view::npos || std::ranges::none_of(kRead, begins)) continue;
      variables_.emplace(entry.substr(0, end), entry.substr(end + 1));
    }
  }

  std::mutex guard_;
  bool noted_ = false;
  std::map<std::string, std::string> variables_;
  std::string folder_;  // "": not known
};

Surroundings& surroundings() { return lasting<Surroundings>(); }

struct Unused {
  std::mutex guard;
  std::set<std::string> variables;
};

Unused& unused() { return lasting<Unused>(); }

}  // namespace

void note_surroundings() { surroundings().note(); }

std::optional<std::string> environment(const char* variable) {
  return surroundings().variable(variable);
}

std::string from_first_folder(const std::string& name) {
  const std::string folder = surroundings().folder();
  if (name.empty() || name.front() == '/' || folder.empty()) return name;
  return folder + '/' + name;
}

bool environment_flag(const char* variable) {
  const std::string text = environment(variable).value_or("0");
  if (text == "0" || text == "1") return text == "1";
  report_unused(variable, Error("value", text, "0 or 1").what());
  return false;
}

bool logs_info() {
  const auto level = environment("LATECOMER_LOG");
  return level == "info" || level == "debug";
}

bool is_used(const char* variable) {
  const std::lock_guard lock(unused().guard);
  return environment(variable) && !unused().variables.contains(variable);
}

void report_unused(const char* variable, const std::string& why) {
  const std::lock_guard lock(unused().guard);
  if (!unused().variables.insert(variable).second || rank_in(MPI_COMM_WORLD) != 0) return;
  log_line(std::string(variable) + " is not used: " + why);
}

}  // namespace latecomer
