#include "lateness/replay.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>

#include "base/error.hpp"

namespace latecomer {
namespace {

constexpr Seconds kNotPosted = std::numeric_limits<Seconds>::infinity();

Seconds mean(std::span<const Seconds> times) {
  if (times.empty()) return 0;
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

void check(const TracedJob& job, const Change& change, std::span<const Stretch> stretches) {
  check(job);
  check_length(change.less.size(), job.calls.rank.size(), "parts less");
  check_length(change.moving.size(), job.calls.rank.size(), "multiples of moving");
  std::size_t end = 0;
  for (const Stretch& each : stretches) {
    if (each.begin < end || each.end < each.begin || each.end > job.order.size()) {
      throw Error("stretch", std::to_string(each.begin) + " to " + std::to_string(each.end),
                  "places in the order, one stretch behind the other");
    }
    end = each.end;
  }
}

/// When a call could go on: as it was measured, and now.
struct Ready {
  Seconds was;
  Seconds now;

  void also(Seconds other_was, Seconds other_now) {
    was = std::max(was, other_was);
    now = std::max(now, other_now);
  }
};

/// Collectives that stay as they were, in which ranks wait for all members: another one may be the
/// last now.
class Met {
 public:
  explicit Met(const TracedJob& job)
      : job_(job),
        came_(job.meetings.came.size(), 0),
        last_(job.meetings.came.size(), {-kNever, -kNever}) {}

  /// When this call can go on, if it waits in a meeting. `now(post)` says when a member comes now.
  template <class Now>
  [[nodiscard]] Ready ready(std::size_t call, Now&& now) {
    const auto number = static_cast<std::size_t>(job_.calls.meeting[call]);
    const auto members = job_.meetings.came[number];
    const Seconds end = job_.calls.end[call];
    const bool for_all = job_.meetings.for_all[number] != 0;
    Ready& last = last_[number];
    touched_.push_back(number);
    for (std::size_t& next = came_[number]; next < members.size(); ++next) {
      const auto post = static_cast<std::size_t>(members[next]);
      const Seconds came = job_.posts.time[post];
      if (!for_all && !(came < end)) break;
      last.also(came, now(post));
    }
    // Where clocks are off it seems to have left before the last one came.
    const Seconds off = std::max(last.was - end, 0.0);
    return {last.was - off, last.now - off};
  }
  /// A stretch ends: for calls of the next one, members came when they did.
  void settle() {
    for (const std::size_t number : touched_) last_[number].now = last_[number].was;
    touched_.clear();
  }

 private:
  static constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();

  const TracedJob& job_;
  std::vector<std::size_t> came_;     // by meeting: how many members have come
  std::vector<Ready> last_;           // ... and the last of them
  std::vector<std::size_t> touched_;  // meetings, since settle()
};

/// The members of the collectives that are carried out anew.
class Anew {
 public:
  Anew(const CarriedOut& anew, std::size_t calls) : anew_(anew) {
    if (anew.calls.size() == 0) return;
    check_places(calls);
    member_.assign(calls, -1);
    number_.resize(calls);
    for (std::size_t number = 0; number < anew.calls.size(); ++number) {
      std::int64_t place = 0;
      for (const std::int64_t call : anew.calls[number]) {
        const auto at = static_cast<std::size_t>(call);
        if (member_[at] >= 0) throw Error("call", std::to_string(call), "in one collective");
        member_[at] = place++;
        number_[at] = number;
      }
    }
    exits_.resize(anew.calls.size());
    arrivals_.resize(anew.calls.size());
    in_order_.resize(anew.calls.size());
  }

  [[nodiscard]] bool has(std::size_t call) const { return !member_.empty() && member_[call] >= 0; }
  /// `arrive(call)` says when a member comes, as far as that is known.
  template <class Arrive>
  void carry_out(std::size_t call, Arrive&& arrive) {
    const std::size_t number = number_[call];
    if (!exits_[number].empty()) return;
    std::vector<Seconds>& arrivals = arrivals_[number];
    for (const std::int64_t each : anew_.calls[number]) {
      arrivals.push_back(arrive(static_cast<std::size_t>(each)));
    }
    exits_[number] = anew_.exits(number, arrivals);
    check_length(exits_[number].size(), arrivals.size(), "exits of a collective");
    in_order_[number] = arrivals;
    std::ranges::sort(in_order_[number]);
  }
  struct Exit {
    Seconds ready;  // the last arrival before it
    Seconds time;
  };
  /// Of a member that came at this time, which may be later than it was thought.
  [[nodiscard]] Exit exit(std::size_t call, Seconds came) const {
    const std::size_t number = number_[call];
    const auto member = static_cast<std::size_t>(member_[call]);
    const Seconds late = std::max(came - arrivals_[number][member], 0.0);
    const Seconds time = exits_[number][member] + late;
    const std::vector<Seconds>& others = in_order_[number];
    const auto later = std::ranges::upper_bound(others, time);
    return {later == others.begin() ? came : std::max(came, *std::prev(later)), time};
  }

 private:
  void check_places(std::size_t calls) const {
    check_lists(anew_.calls, "call of a collective");
    for (const std::int64_t call : anew_.calls.numbers) {
      if (call < 0 || static_cast<std::size_t>(call) >= calls) {
        throw Error("call of a collective", std::to_string(call), "one of the job");
      }
    }
  }

  const CarriedOut& anew_;
  std::vector<std::int64_t> member_;  // by call: its place among the members; -1: it stays
  std::vector<std::size_t> number_;
  std::vector<std::vector<Seconds>> exits_;  // by number; empty: not carried out yet
  std::vector<std::vector<Seconds>> arrivals_;
  std::vector<std::vector<Seconds>> in_order_;  // the same, by time
};

class Replaying {
 public:
  Replaying(const TracedJob& job, const Change& change)
      : job_(job),
        change_(change),
        pass_(job, change.less),
        met_(job),
        anew_(change.anew, job.calls.rank.size()),
        ahead_(job.start.size(), 0),
        of_post_(job.posts.rank.size(), kNotPosted) {}

  void skip(std::size_t begin, std::size_t end) {
    pass_.run(
        begin, end, [](std::size_t, Seconds) {}, [this](std::size_t post) { of_post_[post] = 0; },
        [this](std::size_t call) {
          if (job_.calls.meeting[call] < 0) return;
          static_cast<void>(
              met_.ready(call, [this](std::size_t post) { return job_.posts.time[post]; }));
        });
  }
  Replayed run(const Stretch& stretch) {
    found_ = {};
    found_.from = mean(pass_.since());
    std::ranges::fill(ahead_, 0);
    pass_.run(
        stretch.begin, stretch.end,
        [this](std::size_t rank, Seconds less) { ahead_[rank] += less; },
        [this](std::size_t post) {
          of_post_[post] = ahead_[static_cast<std::size_t>(job_.posts.rank[post])];
          posted_.push_back(post);
        },
        [this](std::size_t call) { end(call); });
    found_.until = mean(pass_.since());
    found_.ahead = ahead_;
    // The next stretch begins as it was measured.
    for (const std::size_t post : posted_) of_post_[post] = 0;
    posted_.clear();
    met_.settle();
    return std::move(found_);
  }

 private:
  void end(std::size_t call) {
    Seconds& mine = ahead_[static_cast<std::size_t>(job_.calls.rank[call])];
    const Seconds came = job_.calls.begin[call] - mine;
    const Anew::Exit exit = anew_.has(call) ? carried_out(call, came) : as_it_was(call, came);
    found_.waiting += exit.ready - came;
    found_.moving += exit.time - exit.ready;
    mine = job_.calls.end[call] - exit.time;
  }
  Anew::Exit carried_out(std::size_t call, Seconds came) {
    anew_.carry_out(call, [this](std::size_t each) { return arrival(each); });
    return anew_.exit(call, came);
  }
  Anew::Exit as_it_was(std::size_t call, Seconds came) {
    const WaitingCalls& calls = job_.calls;
    Ready ready{calls.begin[call], came};
    if (calls.cause[call] >= 0) wait(ready, calls.cause[call], calls.end[call]);
    if (calls.others.size() != 0) {
      for (const std::int64_t post : calls.others[call]) wait(ready, post, calls.end[call]);
    }
    if (calls.meeting[call] >= 0) {
      const Ready last = met_.ready(
          call, [this](std::size_t post) { return job_.posts.time[post] - ahead_of(post); });
      ready.also(last.was, last.now);
    }
    return {ready.now, ready.now + (calls.end[call] - ready.was) * change_.moving[call]};
  }
  /// For a post, in a call that ended then.
  void wait(Ready& ready, std::int64_t post, Seconds end) const {
    const auto which = static_cast<std::size_t>(post);
    const Seconds posted = std::min(job_.posts.time[which], end);
    ready.also(posted, posted - ahead_of(which));
  }
  /// When a rank comes to a call.
  Seconds arrival(std::size_t call) {
    pass_.enter(call, [this](std::size_t rank, Seconds less) { ahead_[rank] += less; });
    return job_.calls.begin[call] - ahead_[static_cast<std::size_t>(job_.calls.rank[call])];
  }
  /// Where clocks are off a post may come later in the order than the call that waits for it.
  [[nodiscard]] Seconds ahead_of(std::size_t post) const {
    if (of_post_[post] != kNotPosted) return of_post_[post];
    return ahead_[static_cast<std::size_t>(job_.posts.rank[post])];
  }

  const TracedJob& job_;
  const Change& change_;
  TracedPass pass_;
  Met met_;
  Anew anew_;
  std::vector<Seconds> ahead_;       // by rank
  std::vector<Seconds> of_post_;     // by post: by how much that was ahead
  std::vector<std::size_t> posted_;  // in this stretch
  Replayed found_;
};

}  // namespace

std::vector<Replayed> replay(const TracedJob& job, const Change& change,
                             std::span<const Stretch> stretches) {
  check(job, change, stretches);
  Replaying replaying(job, change);
  std::vector<Replayed> found;
  std::size_t at = 0;
  for (const Stretch& each : stretches) {
    replaying.skip(at, each.begin);
    found.push_back(replaying.run(each));
    at = each.end;
  }
  return found;
}

}  // namespace latecomer
