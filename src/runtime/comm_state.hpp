// The state of one communicator. It is an attribute of the communicator: not copied with it, and
// freed with it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "choose/chooser.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runtime/call/compute_phase.hpp"
#include "runtime/call/program_cache.hpp"
#include "runtime/call/shortcuts.hpp"
#include "runtime/connection/comm_resources.hpp"
#include "runtime/connection/identity.hpp"
#include "runtime/progress/comm_lock.hpp"
#include "runtime/report/statistics.hpp"

namespace latecomer {

struct Tuning {
  std::uint32_t window = 64;                        // requests in flight per peer and direction
  Count piece_limit = MpiTransport::kLargestPiece;  // elements; read when the resources are made
  Seconds long_wait = 30;
};

/// The result of comparing the ranks' own settings (runtime/settings/settings.hpp).
enum class Settings : std::uint8_t { unknown, alike, different };

class PersistentCall;
/// The started calls of a communicator, executed first to last (runtime/call/persistent.hpp).
using StartedCalls = std::deque<PersistentCall*>;
class AsyncProgress;

/// Work that waits for the next call in which all ranks wait for each other: in others it would
/// make them wait where the program lets them go.
struct Due {
  bool link = false;             // resources, for calls of an algorithm that was set
  std::vector<Problem> reviews;  // of these problems' classes, one in each call
  bool device = false;           // the ranks tell each other whether they pass device memory

  [[nodiscard]] bool any() const { return link || device || !reviews.empty(); }
};

namespace stamps {
class CommStamps;
}

/// What traces know of a communicator (runtime/trace/tracer.hpp).
struct TraceOfComm {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::uint32_t id = kNone;  // in the file
  // Where the members are those of two groups: the other one's begin and size; 0: they are not
  // known.
  std::int32_t others_first = 0;
  std::int32_t others = 0;
  // So far; started persistent ones may outlive the state.
  std::shared_ptr<std::uint64_t> calls = std::make_shared<std::uint64_t>(0);
  std::uint64_t objects = 0;             // that were made of it so far
  CallCounter counter = nullptr;         // of the last call
  Seconds clock = -1;                    // origin of the clock model that was written last
  stamps::CommStamps* stamps = nullptr;  // in memory (runtime/trace/stamps.hpp); null: none so far
};

struct CommState {
  explicit CommState(MPI_Comm user);
  ~CommState();

  MPI_Comm comm;
  Rank rank = 0;
  Rank ranks = 1;
  bool intercommunicator = false;
  std::optional<Identity> identity;  // how its ranks meet; none: by MPI's collectives on it
  std::uint64_t meetings = 0;
  std::uint64_t per_node = 0;  // ranks that may share a node (node_sharing.hpp)

  // Decisions.
  Chooser chooser;
  Settings settings = Settings::unknown;  // compared when latecomer first handles a call
  Shortcuts shortcuts;                    // for calls that need no decision
  ComputePhase phase;                     // of the program, before the next call

  std::uint64_t calls = 0;  // so far, native ones included
  Seconds inside = 0;       // of the last one that the MPI library carried out

  // Calls that latecomer handles.
  Tuning tuning;
  std::unique_ptr<CommResources> resources;  // made for the first of them
  bool resources_failed = false;             // MPI could make none
  bool reviews_missed = false;               // by a rank, whose calls differ or which is late
  Due due;
  bool passed_device_memory = false;  // by this rank, in some call (host_buffers.hpp)
  bool device_call = false;           // by this rank, in the call at hand
  ClockRefresh clock_refresh;         // while arrivals are watched
  ProgramCache programs;
  std::unique_ptr<Prepared> arrival_exchange;     // plan of the exchange after a native call
  std::string broken;                             // the failure that made it useless; empty: none
  CommLock lock;                                  // of this state
  std::unique_ptr<AsyncProgress> async_progress;  // null: not all ranks have a progress thread
  std::shared_ptr<StartedCalls> started = std::make_shared<StartedCalls>();

  // Records.
  latecomer_stats stats{};
  Statistics statistics;                      // without calls that took a shortcut since records()
  std::string parameters;                     // of the last handled call
  std::vector<std::uint64_t> last_to_arrive;  // by rank: calls in which it came last
  TraceOfComm trace;

  /// The statistics of all calls so far.
  [[nodiscard]] const Statistics& records() {
    shortcuts.settle();
    return statistics;
  }
  [[nodiscard]] Choice& choice(Collective collective) {
    return chooser.policy().choice(collective);
  }
  [[nodiscard]] const Choice& choice(Collective collective) const {
    return chooser.policy().choice(collective);
  }
  /// Makes the resources if there are none; collective then. Returns MPI's code and calls no error
  /// handler. After an error without `resources_failed` the ranks may differ in whether they have
  /// resources.
  int ensure_resources();
};

}  // namespace latecomer
