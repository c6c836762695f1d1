#include "runtime/report/ledger.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <mutex>
#include <vector>

#include "base/files.hpp"
#include "base/threads.hpp"
#include "runtime/comm_state.hpp"
#include "runtime/connection/sleeping.hpp"
#include "runtime/progress/progress_thread.hpp"
#include "runtime/report/log.hpp"
#include "runtime/report/statistics.hpp"
#include "runtime/settings/environment.hpp"
#include "transports/mpi/communicators.hpp"

namespace latecomer {
namespace {

constexpr int kMaxTried = 16;  // names for the new file; others may be left over

std::string reason() { return meaning_of_error(errno); }

/// Opens a new file, and sets its name. Returns a negative number if it cannot be made.
int open_new(const std::string& beside, std::string& name) {
  int file = -1;
  for (int i = 0; i < kMaxTried; ++i) {
    name = beside + '.' + std::to_string(getpid()) + '.' + std::to_string(i);
    file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) break;
  }
  return file;
}

}  // namespace

std::string stats_file_name(const std::string& pattern, Rank rank) {
  return expanded(pattern, rank, environment);
}

bool is_of_each_rank(const std::string& pattern) {
  return pattern.find("%r") != std::string::npos || pattern.find("%p") != std::string::npos;
}

std::string write_stats_file(const std::string& name, const std::string& text) {
  struct stat found{};
  const bool there = lstat(name.c_str(), &found) == 0;
  if (there && !S_ISREG(found.st_mode)) return "no regular file";
  if (there && access(name.c_str(), W_OK) != 0) return reason();  // the folder alone would allow it
  std::string fresh;
  const int file = open_new(name, fresh);
  if (file < 0) return reason();
  if (there) (void)fchmod(file, found.st_mode & 07777);  // as the user has set it
  const int code = write_all(file, text);
  std::string failure = code == 0 ? "" : meaning_of_error(code);
  if (close(file) != 0 && failure.empty()) failure = reason();
  if (failure.empty() && std::rename(fresh.c_str(), name.c_str()) != 0) failure = reason();
  if (!failure.empty()) unlink(fresh.c_str());
  return failure;
}

namespace {

constexpr const char* kStatsVariable = "LATECOMER_STATS";
constexpr const char* kSummary = "LATECOMER_SUMMARY";
constexpr std::size_t kMaxFreed = 64;  // freed communicators that are reported one by one

bool sentence_wanted = false;

/// Where statistics go, by LATECOMER_STATS: "" nowhere, "1" a text on stderr, otherwise a file of
/// this name.
std::string destination() {
  const std::string text = environment(kStatsVariable).value_or("0");
  return text == "0" ? "" : text;
}

void report_unwritten(const char* variable, const std::string& name, const std::string& why) {
  log_line(std::string(variable) + ": cannot write the file '" + name + "' (" + why + ')');
}

CommStats stats_of(CommState& state) {
  return {name_in_mpi(state.comm),
          state.rank,
          state.ranks,
          state.stats,
          state.records().keys(),
          {state.records().sites().begin(), state.records().sites().end()}};
}

/// Adds the communicator's calls.
void add_to(RankTotals& totals, CommState& state) {
  add(totals.calls, state.stats);
  totals.saved.add(state.records().saved());
}

class Ledger {
 public:
  Ledger()
      : destination_(destination()),
        kept_(!destination_.empty() || environment(kSummary) || sentence_wanted) {
    if (!kept_) return;
    stats_.rank = rank_in(MPI_COMM_WORLD);
    stats_.ranks = ranks_of(MPI_COMM_WORLD);
    (void)end_with_mpi([] { lasting<Ledger>().report(); });
  }

  void open(CommState& state) {
    if (!kept_) return;
    const std::lock_guard lock(guard_);
    open_.push_back(&state);
  }
  void close(CommState& state) {
    if (!kept_) return;
    const std::lock_guard lock(guard_);
    if (std::erase(open_, &state) == 0 || total(state.stats) == 0) return;
    add_to(freed_, state);
    if (stats_.communicators.size() < kMaxFreed) {
      stats_.communicators.push_back(stats_of(state));
      return;
    }
    ++stats_.further_communicators;
    add(stats_.further_calls, state.stats);
  }
  [[nodiscard]] bool is_kept() const { return kept_; }
  [[nodiscard]] RankTotals totals() {
    const std::lock_guard lock(guard_);
    RankTotals totals = freed_;
    for (CommState* const state : open_) add_to(totals, *state);
    return totals;
  }
  void add_job(const JobSummary& job) {
    stats_.job = job;
    if (sentence_wanted && destination_.empty() && !environment(kSummary) && stats_.rank == 0) {
      log_line(describe(job));
    }
    const auto name = environment(kSummary);
    if (!name || stats_.rank != 0) return;
    const std::string why = write_stats_file(from_first_folder(*name), json(job) + '\n');
    if (!why.empty()) report_unwritten(kSummary, *name, why);
  }

 private:
  void report() {
    const std::lock_guard lock(guard_);
    for (CommState* const state : open_) {
      if (total(state->stats) > 0) stats_.communicators.push_back(stats_of(*state));
    }
    open_.clear();
    if (destination_.empty()) return;
    stats_.slept = slept();
    if (destination_ == "1") {
      if (stats_.rank == 0) log_text(stats_text(stats_));
      return;
    }
    if (stats_.rank != 0 && !is_of_each_rank(destination_)) return;
    const std::string name = stats_file_name(destination_, stats_.rank);
    const std::string why = write_stats_file(
        from_first_folder(name), name.ends_with(".json") ? stats_json(stats_) : stats_text(stats_));
    if (!why.empty()) report_unwritten(kStatsVariable, name, why);
  }

  std::string destination_;
  bool kept_;
  std::mutex guard_;
  std::vector<CommState*> open_;  // in the order in which they were opened
  RankTotals freed_;              // of communicators that were freed
  ProcessStats stats_;
};

Ledger& ledger() { return lasting<Ledger>(); }

}  // namespace

void want_sentence() { sentence_wanted = true; }
void ledger_open(CommState& state) { ledger().open(state); }
void ledger_close(CommState& state) { ledger().close(state); }
bool ledger_is_kept() { return ledger().is_kept(); }
RankTotals ledger_totals() { return ledger().totals(); }
void ledger_add(const JobSummary& job) { ledger().add_job(job); }

}  // namespace latecomer
