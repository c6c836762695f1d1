// A job that was traced: the calls in which ranks may wait, and what they wait for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// Lists of numbers, one behind the other: list i has `numbers[first[i]]` to
/// `numbers[first[i + 1]]`.
struct Lists {
  std::span<const std::int64_t> first;  // empty: there are none
  std::span<const std::int64_t> numbers;

  [[nodiscard]] std::size_t size() const { return first.empty() ? 0 : first.size() - 1; }
  [[nodiscard]] std::span<const std::int64_t> operator[](std::size_t list) const {
    const auto begin = static_cast<std::size_t>(first[list]);
    return numbers.subspan(begin, static_cast<std::size_t>(first[list + 1]) - begin);
  }
};

/// Calls in which ranks may wait, each from a rank's entry to its exit. Entries of one number
/// belong together; times are in seconds.
struct WaitingCalls {
  std::span<const std::int64_t> rank;
  std::span<const Seconds> begin;
  std::span<const Seconds> end;
  std::span<const std::int64_t> place;    // in the program
  std::span<const std::int64_t> cause;    // the post that it waited for last; -1: none
  Lists others;                           // by call: further posts that it waits for
  std::span<const std::int64_t> meeting;  // whose members it waits for; -1: none
  std::span<const std::int64_t> meets;    // 1: all ranks of the job wait for each other in it
  std::span<const double> beyond;         // the part of the computation before it that is excess
};

/// Moments at which a rank did what others may wait for: it sent, or it came to a collective.
struct Posts {
  std::span<const std::int64_t> rank;
  std::span<const Seconds> time;
  std::span<const std::int64_t> next;  // the next call of its rank; -1: none
};

/// Collectives in which ranks wait for all members.
struct Meetings {
  Lists came;                             // by meeting: the posts of its members' arrivals, by time
  std::span<const std::int64_t> for_all;  // 1: who waits, for all; 0: for those before it leaves
};

/// A traced job.
struct TracedJob {
  WaitingCalls calls;
  Posts posts;
  Meetings meetings;
  /// Ends of calls and posts, by time or as causal_order(): twice the number, and 1 more for an
  /// end.
  std::span<const std::int64_t> order;
  std::span<const Seconds> start;  // when each rank began
};

/// Throws Error if this many entries are not the right number.
void check_length(std::size_t length, std::size_t right, const char* what);
/// Throws Error unless the lists of this are in order.
void check_lists(const Lists& lists, const std::string& what);
/// Throws Error if a number in the job is none of its ranks, posts or meetings.
void check(const TracedJob& job);

/// The job's order, but each call's end behind all that it waited for, and what its rank did then
/// behind that: clocks may be off. What waits for each other comes last, by time. Throws as
/// check().
[[nodiscard]] std::vector<std::int64_t> causal_order(const TracedJob& job);

/// Goes through ends and posts in the order of time.
class TracedPass {
 public:
  /// `marked`: a part of the computation before each call; less than 0: as much would be added.
  TracedPass(const TracedJob& job, std::span<const double> marked)
      : job_(job), marked_(marked), since_(job.start.begin(), job.start.end()) {}

  /// `computed(rank, marked seconds)`, `posted(post)` and `ended(call)` in turn, for these places
  /// in the order.
  template <class Computed, class Posted, class Ended>
  void run(std::size_t begin, std::size_t end, Computed&& computed, Posted&& posted,
           Ended&& ended) {
    const WaitingCalls& calls = job_.calls;
    const Posts& posts = job_.posts;
    for (std::size_t at = begin; at < end; ++at) {
      const std::int64_t each = job_.order[at];
      const auto which = static_cast<std::size_t>(each >> 1);
      if ((each & 1) == 0) {
        const std::int64_t next = posts.next[which];
        Seconds until = posts.time[which];  // within the call the rank does not compute
        if (next >= 0) until = std::min(until, calls.begin[static_cast<std::size_t>(next)]);
        compute(posts.rank[which], until, next, computed);
        posted(which);
        continue;
      }
      enter(which, computed);
      ended(which);
      Seconds& since = since_[static_cast<std::size_t>(calls.rank[which])];
      since = std::max(since, calls.end[which]);
    }
  }
  /// The computation before this call, if it has not come yet.
  template <class Computed>
  void enter(std::size_t call, Computed&& computed) {
    const WaitingCalls& calls = job_.calls;
    compute(calls.rank[call], calls.begin[call], static_cast<std::int64_t>(call), computed);
  }
  /// When each rank last left a call, or posted.
  [[nodiscard]] std::span<const Seconds> since() const { return since_; }

 private:
  template <class Computed>
  void compute(std::int64_t rank, Seconds until, std::int64_t next, Computed&& computed) {
    const auto at = static_cast<std::size_t>(rank);
    if (!(until > since_[at])) return;
    const double part = next < 0 ? 0 : marked_[static_cast<std::size_t>(next)];
    if (part != 0) computed(at, part * (until - since_[at]));
    since_[at] = until;
  }

  const TracedJob& job_;
  std::span<const double> marked_;
  std::vector<Seconds> since_;
};

}  // namespace latecomer
