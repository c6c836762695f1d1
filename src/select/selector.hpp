// Automatic choice: which algorithm carries out the next call of a kind. Closed forms price the
// candidates for the arrivals that are expected; what calls really took corrects them. The MPI
// library's own collective always takes part.
//
// A deterministic function of what it is told, so that ranks that are told the same choose the
// same.
#pragma once

#include <cstdint>
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

  /// What was chosen for a call.
  struct Selection {
    CallKey key = 0;
    const Algorithm* row = nullptr;  // its plan: default parameters, the arrivals expected
    Seconds predicted = 0;           // mean over the ranks of exit minus last arrival
    bool tell = true;                // of a call whose own messages do not: worth its cost
  };

  /// For the call that comes now. `arrivals`: one entry a rank, or empty: all together.
  [[nodiscard]] Selection choose(const Problem& problem, const std::vector<Seconds>& arrivals,
                                 const Network& network);
  /// What a call took, mean over the ranks of exit minus last arrival; it may be told later, or
  /// not at all.
  void learn(const Selection& selection, Seconds taken);

 private:
  struct Candidate {
    const Algorithm* row = nullptr;
    Seconds predicted = 0;
  };
  /// All that is known of one kind of call.
  struct CallKind {
    std::uint64_t calls = 0;
    std::uint64_t used = 0;                   // the last call of the communicator
    std::uint64_t untold = 0;                 // calls in a row that nobody told of
    Seconds balanced = 0;                     // predicted of `fastest`
    const Algorithm* native_row = nullptr;    // of the collective
    const Algorithm* balanced_row = nullptr;  // `fastest`
    const Algorithm* current = nullptr;
    std::map<std::string_view, Track> tracks;  // by row
    // The last prices of arrival-aware rows, and for which arrivals.
    std::vector<Seconds> arrivals;
    std::vector<Candidate> aware;
  };

  CallKind& kind_of(const Problem& problem, const Network& network);
  static void price(CallKind& kind, const Problem& problem, const std::vector<Seconds>& arrivals,
                    const Network& network);
  class Prices;

  [[nodiscard]] static std::vector<Candidate> candidates(const CallKind& kind, bool late);
  [[nodiscard]] static Candidate cheapest(const Prices& prices, const std::vector<Candidate>& all);
  /// One of whom too little is known.
  [[nodiscard]] static std::optional<Candidate> to_try(const CallKind& kind,
                                                       const std::vector<Candidate>& all);
  [[nodiscard]] static Candidate best_of(const CallKind& kind, const std::vector<Candidate>& all);
  [[nodiscard]] static bool worth_telling(const CallKind& kind, const Algorithm& row,
                                          const Problem& problem, const Network& network);

  std::map<CallKey, CallKind> kinds_;
  std::uint64_t calls_ = 0;
};

}  // namespace latecomer
