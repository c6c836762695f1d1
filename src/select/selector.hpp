// Automatic choice: which algorithm carries out the next call of a kind. Closed forms price the
// candidates for the arrivals that are expected; what calls really took corrects them. The MPI
// library's own collective always takes part, and so do protocols whose ranks need no estimate
// where they cost little more when all arrive together.
//
// A call is priced from its last arrival on, since nobody can do anything about what was before. In
// a rooted collective ranks may leave earlier: there the price is the mean over the ranks of exit
// minus arrival, and what needs no estimate is compared under arrivals like those of the last
// calls where none are expected.
//
// A deterministic function of what it is told, so that ranks that are told the same choose the
// same.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "algorithms/registry.hpp"
#include "arrival/call_sequence.hpp"
#include "select/track.hpp"

namespace latecomer {

class Selector {
 public:
  static constexpr std::size_t kMost = 64;  // kinds of calls; the one unused longest goes
  /// Of rooted calls one in so many is told of: telling makes all ranks wait for the last one,
  /// which such a call by itself does not.
  static constexpr std::uint64_t kRootedEvery = 8;

  Selector() = default;
  /// `protocols`: whether these may be chosen; not where calls begin before their arrivals.
  explicit Selector(bool protocols) : protocols_(protocols) {}

  /// What was chosen for a call.
  struct Selection {
    CallKey key = 0;
    const Algorithm* row = nullptr;  // its plan: default parameters, the arrivals expected
    Seconds predicted = 0;           // its price
    bool tell = true;                // of a call whose own messages do not: worth its cost
  };

  /// For the call that comes now. `arrivals`: one entry a rank, or empty: all together.
  [[nodiscard]] Selection choose(const Problem& problem, const std::vector<Seconds>& arrivals,
                                 const Network& network);
  /// What a call took, mean over the ranks of exit minus last arrival, and its arrivals; it may be
  /// told later, or not at all. Without arrivals nothing is learned of a rooted call.
  void learn(const Selection& selection, Seconds taken, const std::vector<Seconds>& arrivals);

 private:
  struct Candidate {
    const Algorithm* row = nullptr;
    Seconds predicted = 0;
  };
  /// Of what needs no estimate the plan is always the same.
  struct Steady {
    const Algorithm* row = nullptr;
    Plan plan;
  };
  /// All that is known of one kind of call.
  struct CallKind {
    std::uint64_t calls = 0;
    std::uint64_t used = 0;                 // the last call of the communicator
    std::uint64_t untold = 0;               // calls in a row that nobody told of
    Network network;                        // that prices are for
    Seconds balanced = 0;                   // predicted of `fastest` if all arrive together
    std::vector<Steady> steady;             // `fastest`, then protocols
    const Algorithm* native_row = nullptr;  // of the collective
    const Algorithm* current = nullptr;
    std::map<std::string_view, Track> tracks;  // by row
    // The last prices, and for which arrivals.
    std::vector<Seconds> arrivals;
    std::vector<Candidate> priced;  // the steady ones, then arrival-aware rows
    // Of rooted calls: prices of the steady ones, each for the arrivals of one of the last calls.
    std::deque<std::vector<Seconds>> lately;
  };

  CallKind& kind_of(const Problem& problem, const Network& network);
  void add_protocols(CallKind& kind, const Problem& problem) const;
  static void price(CallKind& kind, const Problem& problem, const std::vector<Seconds>& arrivals);
  class Prices;

  /// What the call should have taken, by what it was chosen for or by the arrivals that came.
  static Seconds promised(CallKind& kind, const Selection& selection,
                          const std::vector<Seconds>& arrivals);
  [[nodiscard]] static Seconds price_of(const CallKind& kind, const Steady& steady,
                                        const std::vector<Seconds>& arrivals);
  [[nodiscard]] static Seconds usual_price(const CallKind& kind, std::size_t steady);
  [[nodiscard]] static std::vector<Candidate> candidates(const CallKind& kind, bool late);
  [[nodiscard]] static Candidate cheapest(const Prices& prices, const std::vector<Candidate>& all);
  /// One of whom too little is known.
  [[nodiscard]] static std::optional<Candidate> to_try(const CallKind& kind,
                                                       const std::vector<Candidate>& all);
  [[nodiscard]] static Candidate best_of(const CallKind& kind, const std::vector<Candidate>& all);
  [[nodiscard]] static bool worth_telling(const CallKind& kind, const Algorithm& row,
                                          const Problem& problem, const Network& network);

  bool protocols_ = true;
  std::map<CallKey, CallKind> kinds_;
  std::uint64_t calls_ = 0;
};

}  // namespace latecomer
