// A class of calls under automatic choice: alike in all that matters, of sizes within an eighth of
// an octave. First it is only watched: the MPI library carries it out. It becomes active when it
// has taken long enough to pay for what follows.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <vector>

#include "arrival/call_sequence.hpp"
#include "choose/plan_cache.hpp"
#include "choose/track.hpp"

namespace latecomer {

/// How long the last watched calls took on the ranks: the least and the most of each. Ranks compare
/// it by one reduction with the minimum, since least(-x) is -most(x).
struct Review {
  static constexpr std::size_t kCalls = 3;
  std::array<double, 2 * kCalls + 1> values{};  // durations, their negatives, room for a link
};

/// One way to carry out a call, and its price.
struct Candidate {
  const Algorithm* row = nullptr;
  Seconds predicted = 0;
  std::shared_ptr<const Plan> plan;  // null: the MPI library's own
};

struct CallClass {
  CallKey key = 0;
  std::uint64_t calls = 0;
  /// Calls before this number go to the MPI library without a further look.
  std::uint64_t next_event = 0;
  bool active = false;
  std::array<float, Review::kCalls> recent{};  // durations on this rank of the last calls, seconds

  // Alike on all ranks.
  Seconds elapsed = 0;          // of a usual call, waiting included
  Seconds account = 0;          // planning time that the calls have paid for
  std::uint64_t reviewed = 0;   // the call of the last review
  std::uint64_t accounted = 0;  // the last call that paid into the account
  std::uint64_t used = 0;       // the event of the communicator that used it last
  std::uint64_t untold = 0;     // calls in a row that nobody told of
  const Algorithm* current = nullptr;
  std::map<std::string_view, Track> tracks;  // by row
  // The candidates of the last call that need no estimate: the best balanced program, protocols.
  std::vector<Candidate> steady;
  // The last prices of all that have a plan, and for which call and arrivals.
  Count priced_count = -1;
  std::vector<Seconds> arrivals;
  std::vector<Candidate> priced;
  // Of rooted calls: what the steady candidates would take under the arrivals of the last calls.
  std::deque<std::vector<Candidate>> lately;
};

}  // namespace latecomer
