// A class of calls under automatic choice: alike in all that matters, of sizes within an eighth of
// an octave. First it is only watched: the MPI library carries it out. It becomes active when it
// has taken long enough to pay for what follows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "arrival/call_sequence.hpp"
#include "choose/plan_cache.hpp"
#include "choose/track.hpp"

namespace latecomer {

/// Tells what one communicator's ranks learned together from what others did: alike on its ranks,
/// and unlike any other's. 0: nothing was learned.
using Lineage = std::uint64_t;
inline constexpr Lineage kLineages = (Lineage{1} << 52) - 1;  // a double holds them exactly

/// How long the last calls of a kind took on this rank.
class Durations {
 public:
  static constexpr std::size_t kCalls = 8;

  void add(Seconds seconds) { last_[count_++ % kCalls] = static_cast<float>(seconds); }
  void clear() { count_ = 0; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// How many are known.
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(std::min<std::uint64_t>(count_, kCalls));
  }
  /// 0: of the last call. `calls` < size().
  [[nodiscard]] Seconds ago(std::size_t calls) const {
    return last_[(count_ - 1 - calls) % kCalls];
  }

 private:
  std::array<float, kCalls> last_{};
  std::uint64_t count_ = 0;
};

/// The calls of a class as a review tells them apart.
enum class Reviewed : std::uint8_t {
  library,  // what the MPI library's own collective took
  decided,  // what a call took that was decided about, all in
};

/// How long the last calls of a class took on the ranks, the least and the most of each, and what
/// else the ranks must know before they make a link. They compare it by one reduction with the
/// minimum, since least(-x) is -most(x).
class Review {
 public:
  static constexpr std::size_t kCalls = Durations::kCalls;

  /// `ago`: 0 for the last call.
  void set_call(Reviewed by, std::size_t ago, Seconds least, Seconds most) {
    values_[place(by, ago)] = least;
    values_[place(by, ago) + 1] = -most;
  }
  [[nodiscard]] Seconds least(Reviewed by, std::size_t ago) const {
    return values_[place(by, ago)];
  }
  [[nodiscard]] Seconds most(Reviewed by, std::size_t ago) const {
    return -values_[place(by, ago) + 1];
  }

  /// Whether each process may have another link.
  void set_room(bool room) { values_[kRoom] = room ? 1 : 0; }
  [[nodiscard]] bool room() const { return values_[kRoom] > 0; }

  /// The lineage of what this rank could take over, 0 for nothing. Agreed: the same on all ranks.
  void offer(Lineage lineage) {
    values_[kOffer] = static_cast<double>(lineage);
    values_[kOffer + 1] = -values_[kOffer];
  }
  [[nodiscard]] bool agreed() const {
    return values_[kOffer] > 0 && values_[kOffer] == -values_[kOffer + 1];
  }

  /// Another rank's.
  void merge(const Review& other) {
    std::transform(values_.begin(), values_.end(), other.values_.begin(), values_.begin(),
                   [](double mine, double theirs) { return std::min(mine, theirs); });
  }
  [[nodiscard]] std::span<double> values() { return values_; }

 private:
  static std::size_t place(Reviewed by, std::size_t ago) {
    return 2 * (static_cast<std::size_t>(by) * kCalls + ago);
  }

  static constexpr std::size_t kRoom = 4 * kCalls;
  static constexpr std::size_t kOffer = kRoom + 1;

  std::array<double, kOffer + 2> values_{};
};

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
  // How long calls took on this rank. Of the first one nothing is noted: it is often a slow one.
  Durations library;  // the MPI library's own collective
  Durations decided;  // those decided about since the last review, all in

  // Alike on all ranks.
  Seconds elapsed = 0;             // of a usual call, waiting included
  bool brief = false;              // it takes less than kBrief
  Seconds account = 0;             // planning time that the calls have paid for
  std::uint64_t reviewed = 0;      // the call of the last review
  std::uint64_t accounted = 0;     // the last call that paid into the account
  std::uint64_t used = 0;          // the event of the communicator that used it last
  std::uint64_t untold = 0;        // calls in a row that nobody told of
  std::uint64_t settled = 0;       // told of in a row, the library's, with nobody late
  std::uint64_t review_after = 0;  // calls that are decided about
  std::uint64_t vain = 0;          // reviews in a row that found deciding dearer than the library
  const Algorithm* current = nullptr;
  std::map<std::string_view, Track> tracks;  // by row
  // The candidates of the last call that need no estimate: the best balanced program, protocols.
  std::vector<Candidate> steady;
  // The last prices of all that have a plan, and for which call and arrivals.
  Count priced_count = -1;
  std::vector<Seconds> arrivals;
  std::vector<Candidate> priced;
  // Of rooted calls: what the steady candidates would take under the arrivals of the last calls.
  std::vector<std::vector<Candidate>> lately;
};

}  // namespace latecomer
