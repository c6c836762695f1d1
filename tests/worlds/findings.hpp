// The findings of all ranks of a world, and the checks of what a world leaves.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "worlds/world.hpp"

namespace latecomer::worlds {

/// A step, and the handle of the communicator that it is played on.
using Called = std::pair<int, MPI_Comm>;

/// A call of a rank as it was, for the checks of traces (truth.cpp).
struct TrueCall {
  int rank;
  int step;
  const char* name;
  MPI_Comm comm;
  int size;  // of the communicator
  Time enter;
  Time exit = -1;  // -1: it never ended
  int code = MPI_SUCCESS;
};

class Findings {
 public:
  explicit Findings(const World& world) : at(world.ranks), world_(world) {}

  void fault(const std::string& text) { outcome.faults.push_back(text); }
  /// Errors on this communicator have a cause from now on.
  void excuse(MPI_Comm comm) { excused_.insert(comm); }
  [[nodiscard]] bool excused(MPI_Comm comm) const;
  [[nodiscard]] bool any_excused() const { return !excused_.empty(); }
  /// The result that is right for this rank of the communicator. Each is made once.
  const std::vector<char>& right(const Step& step, const Called& called, int size);
  /// Compares a result with the right one, and with that of other ranks.
  void check(const Step& step, const Called& called, int me, int size,
             const std::vector<char>& got);
  /// Nobody on this rank may receive what the drop-in library greets it with.
  [[nodiscard]] bool leaves_greetings(int rank) const {
    return rank == world_.without || world_.begins_apart();
  }
  /// Compares a rank's counts of calls with those of others.
  void check_counts(const Called& called, std::pair<std::uint64_t, std::uint64_t> counts);

  bool broken = false;  // a rank was told so of a communicator, and takes no further part there
  Outcome outcome;
  std::vector<int> at;          // the step of each rank
  std::set<Called> unchecked;   // calls in which some rank asked wrongly
  std::vector<TrueCall> calls;  // where ranks write traces

 private:
  [[nodiscard]] static std::string where(int step);

  const World& world_;
  std::set<MPI_Comm> excused_;
  std::map<Called, std::vector<char>> right_;
  std::map<Called, std::vector<char>> first_;  // the bits that came first
  std::map<Called, std::pair<std::uint64_t, std::uint64_t>> counts_;
};

/// Checks that each rank that waits in a call of ours named in its last report whom it waits for: a
/// rank that polls waits there; in one of MPI's own it would be silent. Returns the number of
/// those.
int check_reports(const Scheduler& scheduler, const MpiState& state, Findings& findings);
/// Writes beside the traces what they must tell: evidence/worlds_traced.py compares them.
void write_truth(const World& world, const Scheduler& scheduler, const Findings& findings);
/// Checks that nothing is left of the library's own once all ranks have finalized. `missed`: a rank
/// may have come too late to link ranks, so that it gets, or sends, what nobody waits for.
void check_remains(const MpiState& state, std::ptrdiff_t most_comms, bool missed,
                   Findings& findings);

}  // namespace latecomer::worlds
