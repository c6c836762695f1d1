// A class of calls under automatic choice: alike in all that matters, of sizes within an eighth of
// an octave. First it is only watched: the MPI library carries it out. It becomes active when it
// has taken long enough to pay for what follows.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "choose/feedback.hpp"
#include "choose/plan_cache.hpp"
#include "choose/review.hpp"
#include "forecast/call_sequence.hpp"

namespace latecomer {

/// One way to carry out a call, and its price.
struct Candidate {
  const Algorithm* row = nullptr;
  Seconds predicted = 0;
  std::shared_ptr<const Plan> plan;  // null: the MPI library's own
};

struct CallClass {
  /// Reading the clock twice takes 60 ns, a tenth of the briefest calls: one in so many is timed.
  static constexpr std::uint64_t kTimed = 8;
  static constexpr Seconds kBrief = 20e-6;
  [[nodiscard]] bool next_is_timed() const { return !brief || calls % kTimed == 0; }

  CallKey key = 0;
  std::uint64_t calls = 0;
  /// Calls before this number go to the MPI library without a further look.
  std::uint64_t next_event = 0;
  bool active = false;
  // How long calls took on this rank. The first one is not noted: it is often a slow one.
  Durations library;  // the MPI library's own collective
  Durations decided;  // those decided about since the last review, all in

  // Alike on all ranks.
  Seconds elapsed = 0;                  // of a usual call, waiting included
  bool brief = false;                   // it takes less than kBrief
  Seconds budget = 0;                   // planning time that the calls have paid for
  std::uint64_t reviewed = 0;           // the call of the last review
  std::uint64_t budgeted = 0;           // the last call that paid into the account
  std::uint64_t used = 0;               // the event of the communicator that used it last
  std::uint64_t unobserved = 0;         // calls in a row that nobody told of
  std::uint64_t balanced_in_a_row = 0;  // told of in a row, the library's, with nobody late
  std::uint64_t review_after = 0;       // calls that are decided about
  std::uint64_t futile_reviews = 0;  // reviews in a row that found deciding dearer than the library
  const Algorithm* current = nullptr;
  std::map<std::string_view, Feedback> feedback;  // by row
  // The candidates of the last call that need no estimate: the best balanced program, protocols.
  std::vector<Candidate> arrival_independent;
  // The last prices of all that have a plan, and for which call and arrivals.
  Count priced_count = -1;
  std::vector<Seconds> arrivals;
  std::vector<Candidate> priced;
  // Of rooted calls: what the steady candidates would take under the arrivals of the last calls.
  std::vector<std::vector<Candidate>> recent_prices;
};

}  // namespace latecomer
