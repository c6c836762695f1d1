#include "base/file_pattern.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace latecomer {
namespace {

using Variable = std::optional<std::string> (*)(const char* name);

std::string name_of_job(Variable variable) {
  const auto step = variable("SLURM_STEP_ID");
  for (const char* const each : {"PMIX_NAMESPACE", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"}) {
    const auto name = variable(each);
    if (name) return *name + (std::string(each) == "SLURM_JOB_ID" && step ? "." + *step : "");
  }
  return std::to_string(getppid());
}

/// Makes a text usable as a part of a file's name.
std::string as_word(std::string text) {
  const auto odd = [](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');  // in any locale
    const bool digit = c >= '0' && c <= '9';
    return !letter && !digit && std::string_view("-_.@").find(c) == std::string_view::npos;
  };
  std::replace_if(text.begin(), text.end(), odd, '_');
  return text;
}

}  // namespace

std::string expanded(const std::string& pattern, Rank rank, Variable variable) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : ' ';
    if (next == 'r') {
      name += std::to_string(rank);
    } else if (next == 'p') {
      name += std::to_string(getpid());
    } else if (next == 'j') {
      name += as_word(name_of_job(variable));
    } else {
      name += pattern[i];
      continue;
    }
    ++i;
  }
  return name;
}

}  // namespace latecomer
