// A job that was traced: the calls in which ranks may wait, and what they wait for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
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

/// Collectives in which a rank waits for all members.
struct Meetings {
  /// By meeting: when its members came, in the order of time: twice the number of a post, or, where
  /// nobody leaves before all have come, twice that of a call, which they entered then, and 1 more.
  Lists came;
  std::span<const std::int64_t> by_all;  // 1: nobody leaves before all have come
};

/// A traced job.
struct TracedJob {
  WaitingCalls calls;
  Posts posts;
  Meetings meetings;
  /// Ends of calls and posts by their time: twice the number, and 1 more for an end.
  std::span<const std::int64_t> order;
  std::span<const Seconds> start;  // when each rank began
};

/// Throws Error if this many entries are not the right number.
inline void check_length(std::size_t length, std::size_t right, const char* what) {
  if (length != right)
    throw Error(what, std::to_string(length), std::to_string(right) + " entries");
}
/// Throws Error unless the lists of this are in order.
inline void check_lists(const Lists& lists, const std::string& what) {
  std::int64_t before = 0;
  for (const std::int64_t first : lists.first) {
    const bool in_order =
        first >= before && static_cast<std::size_t>(first) <= lists.numbers.size();
    if (!in_order) throw Error("first " + what, std::to_string(first), "in order");
    before = first;
  }
}
/// Throws Error if a number in the job is none of its ranks, posts or steps.
inline void check(const TracedJob& job) {
  const WaitingCalls& calls = job.calls;
  const std::size_t count = calls.rank.size();
  const std::size_t ranks = job.start.size();
  using Numbers = std::span<const std::int64_t>;
  const auto check_range = [](Numbers numbers, std::int64_t least, std::size_t below,
                              const char* what) {
    for (const std::int64_t number : numbers) {
      if (number >= least && number < static_cast<std::int64_t>(below)) continue;
      throw Error(what, std::to_string(number), "below " + std::to_string(below));
    }
  };
  const auto check_moments = [&](Numbers moments, const char* what) {
    for (const std::int64_t each : moments) {
      const std::size_t below = (each & 1) != 0 ? count : job.posts.rank.size();
      if (each >= 0 && static_cast<std::size_t>(each >> 1) < below) continue;
      throw Error(what, std::to_string(each), "that of a call or a post");
    }
  };
  for (const std::size_t length : {calls.begin.size(), calls.end.size(), calls.place.size(),
                                   calls.cause.size(), calls.meets.size(), calls.beyond.size()}) {
    check_length(length, count, "calls");
  }
  if (!calls.others.first.empty()) check_length(calls.others.size(), count, "lists of posts");
  check_lists(calls.others, "further post of a call");
  check_range(calls.others.numbers, 0, job.posts.rank.size(), "further post of a call");
  check_length(calls.meeting.size(), count, "calls");
  check_range(calls.meeting, -1, job.meetings.came.size(), "meeting of a call");
  check_lists(job.meetings.came, "member of a meeting");
  check_moments(job.meetings.came.numbers, "member of a meeting");
  check_length(job.meetings.by_all.size(), job.meetings.came.size(), "meetings");
  check_length(job.posts.time.size(), job.posts.rank.size(), "posts");
  check_length(job.posts.next.size(), job.posts.rank.size(), "posts");
  check_range(calls.rank, 0, ranks, "rank of a call");
  check_range(calls.cause, -1, job.posts.rank.size(), "cause of a call");
  check_range(job.posts.rank, 0, ranks, "rank of a post");
  check_range(job.posts.next, -1, count, "next call of a post");
  check_moments(job.order, "place in the order");
}

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
