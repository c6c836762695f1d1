// What latecomer knows of one communicator. It is attached to the communicator, not copied with
// it, and freed with it.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "choose/chooser.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runtime/call/compute_phase.hpp"
#include "runtime/call/program_cache.hpp"
#include "runtime/call/shortcuts.hpp"
#include "runtime/connection/comm_resources.hpp"
#include "runtime/progress/comm_lock.hpp"
#include "runtime/report/statistics.hpp"

namespace latecomer {

struct Tuning {
  std::uint32_t window = 64;                        // requests in flight per peer and direction
  Count piece_limit = MpiTransport::kLargestPiece;  // elements; read when the resources are made
  Seconds long_wait = 30;
};

/// The ranks' own settings, compared (runtime/settings/settings.hpp).
enum class Settings : std::uint8_t { unknown, alike, different };

class PersistentCall;
/// A communicator's started calls, carried out first to last (runtime/call/persistent.hpp).
using StartedCalls = std::deque<PersistentCall*>;
class AsyncProgress;

struct CommState {
  explicit CommState(MPI_Comm user);
  ~CommState();

  MPI_Comm comm;
  Rank rank = 0;
  Rank ranks = 1;
  bool intercommunicator = false;

  // Decisions.
  Chooser chooser;
  Settings settings = Settings::unknown;  // compared when latecomer first handles a call
  Network compared;                       // the network as it was then, alike on all ranks
  Shortcuts shortcuts;                    // of calls that need no decision
  ComputePhase phase;                     // of the program, before the next call

  std::uint64_t calls = 0;  // so far, whoever carried them out

  // Calls that latecomer handles.
  Tuning tuning;
  std::unique_ptr<CommResources> resources;  // made for the first of them
  bool resources_failed = false;             // MPI could make none
  ClockRefresh clock_refresh;                // while arrivals are watched
  ProgramCache programs;
  std::unique_ptr<Prepared>
      arrival_exchange;  // tells all ranks of a call that the MPI library carried out
  std::string broken;    // why it is of no further use; empty: it is
  CommLock lock;         // of this state
  std::unique_ptr<AsyncProgress> async_progress;  // null: not all ranks have a progress thread
  std::shared_ptr<StartedCalls> started = std::make_shared<StartedCalls>();

  // Records.
  latecomer_stats stats{};
  Statistics statistics;   // without calls that took a shortcut since records()
  std::string parameters;  // of the last handled call

  /// The statistics with all calls so far.
  [[nodiscard]] const Statistics& records() {
    shortcuts.settle();
    return statistics;
  }
  [[nodiscard]] Choice& choice(Collective of) { return chooser.policy().choice(of); }
  [[nodiscard]] const Choice& choice(Collective of) const { return chooser.policy().choice(of); }
  /// Collective the first time. Returns MPI's code; nobody's error handler is called. After an
  /// error without `resources_failed` the ranks may differ in whether they have one.
  int ensure_resources();
};

}  // namespace latecomer
