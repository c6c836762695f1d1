#include "runtime/progress/progress_mode.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "runtime/report/log.hpp"
#include "runtime/settings/environment.hpp"

namespace latecomer {
namespace {

constexpr const char* kProgressVariable = "LATECOMER_PROGRESS";
constexpr const char* kThread = "LATECOMER_PROGRESS=thread";

bool read_mode(const std::string& text) {
  if (text != "none" && text != "thread") throw Error("progress", text, "none or thread");
  return text == "thread";
}

bool asked_for() try {
  return read_mode(environment(kProgressVariable).value_or("none"));
} catch (const Error& error) {
  report_unused(kProgressVariable, error.what());
  return false;
}

int thread_level() {
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  return level;
}

std::string name_of(int level) {
  if (level == MPI_THREAD_SINGLE) return "MPI_THREAD_SINGLE";
  return level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED" : "MPI_THREAD_SERIALIZED";
}

void say_not_allowed() {
  const Error error("MPI's thread level", name_of(thread_level()),
                    "MPI_THREAD_MULTIPLE, from MPI_Init_thread");
  report_unused(kThread, error.what());
}

void say_some_only(MPI_Comm user, std::ptrdiff_t wish, std::ptrdiff_t ready, std::ptrdiff_t ranks) {
  log_line(describe(user) + ": no progress threads, since " + std::to_string(wish) + " of " +
           std::to_string(ranks) + " ranks want one, and " + std::to_string(ready) +
           " can have it; right would be " + kThread + " and MPI_THREAD_MULTIPLE on all of them");
}

}  // namespace

ProgressMode progress_mode() {
  if (!asked_for()) return ProgressMode::none;
  const bool allowed = thread_level() == MPI_THREAD_MULTIPLE;
  return allowed ? ProgressMode::thread : ProgressMode::not_allowed;
}

bool all_have_progress_threads(const Introductions& all, MPI_Comm user, Rank me) {
  const auto number = [&](ProgressMode mode) {
    return std::count_if(all.begin(), all.end(),
                         [mode](const Introduction& one) { return one.progress == mode; });
  };
  const auto ranks = std::ssize(all);
  const auto ready = number(ProgressMode::thread);
  const auto not_allowed = number(ProgressMode::not_allowed);
  if (ready == ranks) return true;
  if (not_allowed == ranks) {
    say_not_allowed();
  } else if (me == 0 && ready + not_allowed > 0) {
    say_some_only(user, ready + not_allowed, ready, ranks);
  }
  return false;
}

}  // namespace latecomer
