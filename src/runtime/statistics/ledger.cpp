#include "runtime/statistics/ledger.hpp"

#include <cstdlib>
#include <fstream>
#include <mutex>
#include <vector>

#include "runtime/comm_state.hpp"
#include "runtime/log.hpp"
#include "runtime/statistics/counters.hpp"

namespace latecomer {
namespace {

constexpr std::size_t kMostFreed = 64;  // communicators that are told one by one

/// What LATECOMER_STATS asks for: "" nothing, "1" a text on stderr, else the name of a file.
std::string wish() {
  const char* const text = std::getenv("LATECOMER_STATS");
  return text == nullptr || std::string(text) == "0" ? "" : text;
}

/// "%r" becomes the rank.
std::string name_for(std::string name, Rank rank) {
  for (auto at = name.find("%r"); at != std::string::npos; at = name.find("%r", at)) {
    name.replace(at, 2, std::to_string(rank));
  }
  return name;
}

CommStats stats_of(const CommState& state) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  PMPI_Comm_get_name(state.comm, name, &length);
  return {name,
          state.rank,
          state.ranks,
          state.stats,
          state.statistics.keys(),
          {state.statistics.sites().begin(), state.statistics.sites().end()}};
}

class Ledger {
 public:
  Ledger() : wish_(wish()) {
    if (wish_.empty()) return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &told_.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &told_.ranks);
    int keyval = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalize, &keyval, nullptr);
    PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, this);
  }

  void open(const CommState& state) {
    if (wish_.empty()) return;
    const std::lock_guard lock(guard_);
    open_.push_back(&state);
  }
  void close(const CommState& state) {
    if (wish_.empty()) return;
    const std::lock_guard lock(guard_);
    if (std::erase(open_, &state) == 0 || total(state.stats) == 0) return;
    if (told_.communicators.size() < kMostFreed) {
      told_.communicators.push_back(stats_of(state));
      return;
    }
    ++told_.further_communicators;
    add(told_.further_calls, state.stats);
  }

 private:
  /// MPI deletes the attributes of MPI_COMM_SELF first of all in MPI_Finalize.
  static int finalize(MPI_Comm, int, void* ledger, void*) {
    static_cast<Ledger*>(ledger)->tell();
    return MPI_SUCCESS;
  }

  void tell() {
    const std::lock_guard lock(guard_);
    for (const CommState* const state : open_) {
      if (total(state->stats) > 0) told_.communicators.push_back(stats_of(*state));
    }
    open_.clear();
    if (wish_ == "1") {
      if (told_.rank == 0) log_text(stats_text(told_));
      return;
    }
    const std::string name = name_for(wish_, told_.rank);
    if (told_.rank != 0 && name == wish_) return;
    std::ofstream file(name);
    file << (name.ends_with(".json") ? stats_json(told_) : stats_text(told_));
    if (!file.flush()) log_line("LATECOMER_STATS: cannot write the file '" + name + "'");
  }

  std::string wish_;
  std::mutex guard_;
  std::vector<const CommState*> open_;  // in the order in which they came
  ProcessStats told_;
};

Ledger& ledger() {
  static Ledger& made = *new Ledger;  // communicators may be freed after static objects
  return made;
}

}  // namespace

void ledger_open(const CommState& state) { ledger().open(state); }
void ledger_close(const CommState& state) { ledger().close(state); }

}  // namespace latecomer
