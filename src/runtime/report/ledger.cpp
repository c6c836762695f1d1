#include "runtime/report/ledger.hpp"

#include <mutex>
#include <vector>

#include "runtime/comm_state.hpp"
#include "runtime/connection/sleeping.hpp"
#include "runtime/progress/progress_thread.hpp"
#include "runtime/report/counters.hpp"
#include "runtime/report/log.hpp"
#include "runtime/report/stats_file.hpp"
#include "runtime/settings/environment.hpp"

namespace latecomer {
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
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  PMPI_Comm_get_name(state.comm, name, &length);
  return {name,
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

class Ledger;
Ledger& ledger();

class Ledger {
 public:
  Ledger()
      : destination_(destination()),
        kept_(!destination_.empty() || environment(kSummary) || sentence_wanted) {
    if (!kept_) return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &stats_.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &stats_.ranks);
    (void)end_with_mpi([] { ledger().report(); });
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

Ledger& ledger() {
  static Ledger& made = *new Ledger;  // communicators may be freed after static objects
  return made;
}

}  // namespace

void want_sentence() { sentence_wanted = true; }
void ledger_open(CommState& state) { ledger().open(state); }
void ledger_close(CommState& state) { ledger().close(state); }
bool ledger_is_kept() { return ledger().is_kept(); }
RankTotals ledger_totals() { return ledger().totals(); }
void ledger_add(const JobSummary& job) { ledger().add_job(job); }

}  // namespace latecomer
