#include "runtime/report/ledger.hpp"

#include <mutex>
#include <vector>

#include "runtime/comm_state.hpp"
#include "runtime/report/counters.hpp"
#include "runtime/report/log.hpp"
#include "runtime/report/stats_file.hpp"
#include "runtime/settings/environment.hpp"

namespace latecomer {
namespace {

constexpr const char* kStatsVariable = "LATECOMER_STATS";
constexpr std::size_t kMaxFreed = 64;  // freed communicators that are reported one by one

/// Where statistics go, by LATECOMER_STATS: "" nowhere, "1" a text on stderr, otherwise a file of
/// this name.
std::string destination() {
  const std::string text = environment(kStatsVariable).value_or("0");
  return text == "0" ? "" : text;
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

class Ledger {
 public:
  Ledger() : destination_(destination()) {
    if (destination_.empty()) return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &stats_.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &stats_.ranks);
    int keyval = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalize, &keyval, nullptr);
    PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, this);
  }

  void open(CommState& state) {
    if (destination_.empty()) return;
    const std::lock_guard lock(guard_);
    open_.push_back(&state);
  }
  void close(CommState& state) {
    if (destination_.empty()) return;
    const std::lock_guard lock(guard_);
    if (std::erase(open_, &state) == 0 || total(state.stats) == 0) return;
    if (stats_.communicators.size() < kMaxFreed) {
      stats_.communicators.push_back(stats_of(state));
      return;
    }
    ++stats_.further_communicators;
    add(stats_.further_calls, state.stats);
  }

 private:
  /// MPI deletes the attributes of MPI_COMM_SELF first of all in MPI_Finalize.
  static int finalize(MPI_Comm, int, void* ledger, void*) {
    static_cast<Ledger*>(ledger)->report();
    return MPI_SUCCESS;
  }

  void report() {
    const std::lock_guard lock(guard_);
    for (CommState* const state : open_) {
      if (total(state->stats) > 0) stats_.communicators.push_back(stats_of(*state));
    }
    open_.clear();
    if (destination_ == "1") {
      if (stats_.rank == 0) log_text(stats_text(stats_));
      return;
    }
    if (stats_.rank != 0 && !is_of_each_rank(destination_)) return;
    const std::string name = stats_file_name(destination_, stats_.rank);
    const std::string why =
        write_stats_file(name, name.ends_with(".json") ? stats_json(stats_) : stats_text(stats_));
    if (why.empty()) return;
    log_line(std::string(kStatsVariable) + ": cannot write the file '" + name + "' (" + why + ')');
  }

  std::string destination_;
  std::mutex guard_;
  std::vector<CommState*> open_;  // in the order in which they were opened
  ProcessStats stats_;
};

Ledger& ledger() {
  static Ledger& made = *new Ledger;  // communicators may be freed after static objects
  return made;
}

}  // namespace

void ledger_open(CommState& state) { ledger().open(state); }
void ledger_close(CommState& state) { ledger().close(state); }

}  // namespace latecomer
