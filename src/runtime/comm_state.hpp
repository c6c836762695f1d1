// What latecomer knows of one communicator. It is attached to the communicator, not copied with
// it, and freed with it.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>

#include "latecomer/latecomer_mpi.h"
#include "runtime/background/turn.hpp"
#include "runtime/compute_phase.hpp"
#include "runtime/link.hpp"
#include "runtime/plan_cache.hpp"
#include "runtime/statistics/statistics.hpp"
#include "select/last_choices.hpp"
#include "telemetry/watch.hpp"

namespace latecomer {

struct Tuning {
  std::uint32_t window = 64;                        // requests in flight per peer and direction
  Count piece_limit = MpiTransport::kLargestPiece;  // elements; read when the link is made
  Seconds long_wait = 30;
};

/// MPI libraries ask the receiver before they send a long message: where nothing is said of that,
/// it takes two start-ups.
[[nodiscard]] inline Network with_handshake(Network network) {
  if (network.handshake == 0) network.handshake = 2 * network.alpha;
  return network;
}

/// Whether what each rank sets for itself is alike on all ranks (runtime/settings.hpp).
enum class Settings : std::uint8_t { unknown, alike, different };

class PersistentCall;
/// Of one communicator, carried out first to last (runtime/persistent.hpp).
using StartedCalls = std::deque<PersistentCall*>;
class Background;

struct CommState {
  explicit CommState(MPI_Comm user);
  ~CommState();

  MPI_Comm comm;
  Rank rank = 0;
  Rank ranks = 1;
  bool intercommunicator = false;

  std::array<Choice, kCollectives> choices;  // by collective
  bool protocols = false;                    // some might be chosen: words may be under way
  Knowledge knowledge;                       // as set; decide() says what a call is planned with
  bool reproducible = false;                 // order and choice depend on the problem alone
  std::vector<Seconds> given;                // arrivals that the program expects
  std::vector<Seconds> expected;             // that the last call was planned with
  bool online = false;                       // arrivals are expected as earlier calls showed them
  std::unique_ptr<Watch> watch;              // while online, or what calls took is to be known
  Selector selector;                         // of an automatic choice that every rank makes
  Selector announcing{false};                // of one that rank 0 makes for all, ahead of arrivals
  LastChoices chosen;                        // by them
  std::uint64_t rooted_calls = 0;            // with an algorithm that was set
  ClockRefresh clock_refresh;                // of the link's clocks, while watched
  PlanCache plans;
  Tuning tuning;
  Settings settings = Settings::unknown;  // compared in the first handled call
  Network compared;                       // the network as it was then, alike on all ranks
  std::shared_ptr<StartedCalls> started = std::make_shared<StartedCalls>();
  latecomer_stats stats{};
  Statistics statistics;
  std::string parameters;      // of the last handled call
  std::string broken;          // why it is of no further use; empty: it is
  std::unique_ptr<Link> link;  // made when all ranks choose, at the latest in the first call
  ComputePhase phase;          // of the program, before the next call
  Turn turn;                   // who uses all this: a thread of the program, or the progress thread
  std::unique_ptr<Background> background;  // null: not all ranks have a progress thread

  [[nodiscard]] Choice& choice(Collective of) { return choices[static_cast<std::size_t>(of)]; }
  [[nodiscard]] const Choice& choice(Collective of) const {
    return choices[static_cast<std::size_t>(of)];
  }
  [[nodiscard]] bool automatic(Collective of) const { return choice(of).algorithm->name == "auto"; }
  /// Whether any collective's algorithm is chosen call by call.
  [[nodiscard]] bool automatic() const;
  /// Collective the first time. Returns MPI's code.
  int ensure_link();
};

/// The communicator's state, made at the first request. Throws Error if MPI cannot attach it.
[[nodiscard]] CommState& state_of(MPI_Comm comm);

}  // namespace latecomer
