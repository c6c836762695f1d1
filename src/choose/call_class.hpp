// A call class: calls under automatic choice that are alike in all that matters, with sizes within
// an eighth of an octave. At first a class is only watched, and the MPI library executes its calls.
// It becomes active when its calls have taken long enough to pay for what follows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "choose/belief.hpp"
#include "choose/plan_cache.hpp"
#include "choose/review.hpp"
#include "forecast/call_sequence.hpp"
#include "price/candidates.hpp"
#include "telemetry/call_series.hpp"
#include "telemetry/watch.hpp"

namespace latecomer {

/// One way to execute a call, and its price.
struct Candidate {
  const Algorithm* row = nullptr;
  Seconds predicted = 0;
  std::shared_ptr<const Plan> plan;  // null: the MPI library's own
  NetworkParts shares{};             // of the network's parts in the price
  // The name of a rival, whose price is that of balance.
  std::string rival = {};  // NOLINT(readability-redundant-member-init): often left out
  /// A class tells its candidates apart by it.
  [[nodiscard]] std::string_view name() const {
    return rival.empty() ? row->name : std::string_view(rival);
  }
};

/// A decision that the next calls of a class repeat.
struct Repeated {
  const Algorithm* row = nullptr;
  Seconds predicted = 0;
  std::shared_ptr<const Plan> plan;  // without stamps; null: nothing is repeated
  std::uint64_t until = 0;           // the number of the call that is decided about again
};

/// The last few lengths of a class's calls that were different.
class RecentCounts {
 public:
  /// Returns true if the length is one of them; otherwise it replaces the oldest.
  bool note(Count count) {
    if (std::ranges::find(counts_, count) != counts_.end()) return true;
    counts_[next_++ % counts_.size()] = count;
    return false;
  }

 private:
  std::array<Count, 8> counts_{-1, -1, -1, -1, -1, -1, -1, -1};
  std::size_t next_ = 0;
};

/// True if reviews compare the mean over the ranks of the time in a call. In an all-reduce the rank
/// that comes last counts; in the others a late rank may leave long before the rest.
[[nodiscard]] constexpr bool takes_mean_time(Collective collective) {
  return collective != Collective::allreduce;
}

/// Calls that one candidate executes. After the last one each rank tells the others when it was in
/// them.
struct CallBlock {
  Problem problem;  // of the last call that was decided about
  Choice choice;
  std::string name;  // of the candidate
  Seconds predicted = 0;
  std::uint64_t calls = 0;
  std::uint64_t last = 0;  // the number of its last call in the class
  bool pure = true;        // the candidate executed all
};

/// The blocks of a class.
struct CallBlocks {
  std::uint64_t library = 0;  // the last call of a block that the library executed
  std::uint64_t renewed = 0;  // how often it got one since its costs might be old
  CallBlock now;
  std::optional<CallBlock> told;  // the one before, while not all ranks have told of it
  LastCalls last_calls;           // of this rank, in the block
  std::vector<CallSeries> past;   // of the last blocks, oldest first
  Synchrony synchrony;            // between the calls
};

struct CallClass {
  /// Reading the clock twice takes 60 ns, a tenth of the shortest calls: of brief calls only every
  /// kTimed-th is timed.
  static constexpr std::uint64_t kTimed = 8;
  static constexpr Seconds kBrief = 20e-6;
  /// Arrival stamps and exchanges make calls longer by some ten microseconds: the durations of
  /// watched calls that take less than this say little.
  static constexpr Seconds kShort = 300e-6;
  [[nodiscard]] bool next_is_timed() const { return !brief || blocks || calls % kTimed == 0; }

  /// The part of the calls' time that planning may take, by estimates. The time counts up to
  /// kMovingTimes times that of moving data, since plans shorten nothing else; more than once, so
  /// that ranks that mostly wait do not wait long for their plans.
  static constexpr double kPlanning = 0.02;
  static constexpr double kMovingTimes = 10;
  /// Pays for the calls since the last payment into the budget.
  void pay_in() {
    const auto unpaid = static_cast<double>(calls - budgeted);
    budget += kPlanning * std::min(elapsed, kMovingTimes * moving) * unpaid;
    budgeted = calls;
  }
  /// Takes planning time from the budget, if it holds so much; otherwise false.
  [[nodiscard]] bool pay(Seconds cost) {
    if (budget < cost) return false;
    budget -= cost;
    return true;
  }

  /// How many calls are expected to follow: as many as there were, and some in any case.
  [[nodiscard]] double later_calls() const {
    constexpr double kAtLeast = 8;
    return kAtLeast + static_cast<double>(calls);
  }

  /// Plans and prices are to be made anew.
  void drop_prices() {
    priced_count = -1;
    repeated = {};
    knows_rivals = false;
    rivals.clear();
    arrival_independent.clear();
    recent_prices.clear();
  }

  CallKey key = 0;
  std::uint64_t calls = 0;
  /// Calls before this number go to the MPI library without being looked at.
  std::uint64_t next_event = 0;
  bool active = false;
  bool announced = false;  // its calls are decided by rank 0, which alone learns about them
  // Durations on this rank. The first call, which is often slow, is not noted.
  Durations library;  // calls of the MPI library's own collective
  Durations decided;  // calls decided about since the last review, with all overhead

  // Alike on all ranks.
  Seconds elapsed = 0;                  // exponential mean over the calls, waiting included
  Seconds moving = 0;                   // likewise from the last arrival on: what plans can shorten
  Seconds waiting = 0;                  // likewise for the last rank to arrive
  Seconds reviewed_elapsed = 0;         // mean time inside a call in the last review
  bool brief = false;                   // elapsed < kBrief
  Seconds budget = 0;                   // seconds that planning may take, paid for by the calls
  std::uint64_t reviewed = 0;           // the call of the last review
  std::uint64_t budgeted = 0;           // the last call that paid into the budget
  std::uint64_t used = 0;               // the event of the communicator that used it last
  bool exits_due = false;               // the next call's stamps bring the exits of the last one
  std::uint64_t unobserved = 0;         // calls in a row whose arrivals are not known
  std::uint64_t balanced_in_a_row = 0;  // watched native calls in a row with nobody late
  std::uint64_t review_after = 0;       // calls that are decided about
  std::uint64_t library_timed = 0;      // the last call in `library`
  std::uint64_t refresh_every = 0;      // one in so many calls goes to the library, to time it
  std::uint64_t futile_reviews = 0;  // reviews in a row in which deciding cost more than it gained
  RecentCounts recent_counts;        // elements
  std::optional<Network> network;    // that prices and plans assume; none: the agreed one
  Belief belief;                     // of the candidates' costs, against these prices
  std::unique_ptr<CallBlocks> blocks;  // while active, if ranks may leave a call before others come
  std::uint64_t believed = 0;          // the last call that it was asked about
  Repeated repeated;
  // The last plan whose stamps were left out, and the plan without them.
  std::shared_ptr<const Plan> stamped, bare;
  // Balanced programs that may be faster than the one with the least price. Looked for once.
  bool knows_rivals = false;
  std::vector<Rival> rivals;
  // The last call's candidates that do not depend on expected arrivals: the best balanced program,
  // its rivals, and protocols.
  std::vector<Candidate> arrival_independent;
  // The last prices of all candidates with a plan, and the call and arrivals that they are for.
  Count priced_count = -1;
  std::vector<Seconds> arrivals;
  std::vector<Candidate> priced;
  std::vector<Choice> unpriced;  // for these arrivals, the cheapest to plan last
  // The prices of the arrival-independent candidates under the arrivals of the last calls.
  std::vector<std::vector<Candidate>> recent_prices;
};

}  // namespace latecomer
