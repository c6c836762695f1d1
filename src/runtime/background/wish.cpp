#include "runtime/background/wish.hpp"

#include <array>
#include <string>

#include "base/error.hpp"
#include "runtime/environment.hpp"
#include "runtime/log.hpp"

namespace latecomer {
namespace {

constexpr const char* kVariable = "LATECOMER_PROGRESS";
constexpr const char* kThread = "LATECOMER_PROGRESS=thread";

enum class Wish : int { none, not_allowed, thread };

bool read_wish(const std::string& text) {
  if (text != "none" && text != "thread") throw Error("progress", text, "none or thread");
  return text == "thread";
}

bool asked_for() try {
  return read_wish(environment(kVariable).value_or("none"));
} catch (const Error& error) {
  report_unused(kVariable, error.what());
  return false;
}

int thread_level() {
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  return level;
}

Wish own_wish() {
  if (!asked_for()) return Wish::none;
  return thread_level() == MPI_THREAD_MULTIPLE ? Wish::thread : Wish::not_allowed;
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

void say_some_only(MPI_Comm user, int ready, int ranks) {
  log_line(describe(user) + ": no progress threads, since only " + std::to_string(ready) + " of " +
           std::to_string(ranks) + " ranks have one; right would be " + kThread +
           " and MPI_THREAD_MULTIPLE on all of them");
}

}  // namespace

bool all_have_progress_threads(MPI_Comm comm, MPI_Comm user) {
  const Wish mine = own_wish();
  const std::array<int, 2> own = {mine == Wish::thread ? 1 : 0, mine == Wish::not_allowed ? 1 : 0};
  std::array<int, 2> all{};  // ranks that have one; that lack the level only
  int rank = 0;
  int ranks = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  if (PMPI_Allreduce(own.data(), all.data(), 2, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS)
    return false;
  if (all[0] == ranks) return true;
  if (all[1] == ranks) {
    say_not_allowed();
  } else if (rank == 0 && all[0] + all[1] > 0) {
    say_some_only(user, all[0], ranks);
  }
  return false;
}

}  // namespace latecomer
