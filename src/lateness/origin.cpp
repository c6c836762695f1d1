#include "lateness/origin.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace latecomer {
namespace {

using Number = std::int64_t;

// ---- Checks

void check(std::span<const Number> numbers, Number least, std::size_t below, const char* what) {
  for (const Number number : numbers) {
    if (number >= least && number < static_cast<Number>(below)) continue;
    throw Error(what, std::to_string(number), "below " + std::to_string(below));
  }
}

void check_length(std::size_t length, std::size_t right, const char* what) {
  if (length != right)
    throw Error(what, std::to_string(length), std::to_string(right) + " entries");
}

void check(const TracedJob& job) {
  const WaitingCalls& calls = job.calls;
  const std::size_t count = calls.rank.size();
  const std::size_t ranks = job.start.size();
  const std::size_t steps = ranks == 0 ? 0 : job.beyond.size() / ranks;
  check_length(job.beyond.size(), steps * ranks, "seconds beyond");
  for (const std::size_t length : {calls.begin.size(), calls.end.size(), calls.place.size(),
                                   calls.cause.size(), calls.meets.size(), calls.step.size()}) {
    check_length(length, count, "calls");
  }
  check_length(job.posts.time.size(), job.posts.rank.size(), "posts");
  check_length(job.posts.step.size(), job.posts.rank.size(), "posts");
  check(calls.rank, 0, ranks, "rank of a call");
  check(calls.step, 0, steps, "step of a call");
  check(calls.cause, -1, job.posts.rank.size(), "cause of a call");
  check(job.posts.rank, 0, ranks, "rank of a post");
  check(job.posts.step, 0, steps, "step of a post");
  for (const Number each : job.order) {
    const std::size_t below = (each & 1) != 0 ? count : job.posts.rank.size();
    if (each >= 0 && static_cast<std::size_t>(each >> 1) < below) continue;
    throw Error("place in the order", std::to_string(each), "that of a call or a post");
  }
}

// ---- The pass

/// Goes through ends and posts in the order of time, and keeps what computation is beyond the
/// median rank's: a rank's first computation in a step counts first.
class Pass {
 public:
  explicit Pass(const TracedJob& job)
      : job_(job),
        since_(job.start.begin(), job.start.end()),
        left_(job.beyond.begin(), job.beyond.end()) {}

  /// `computed(rank, seconds beyond)`, `posted(post)` and `ended(call)` in turn.
  template <class Computed, class Posted, class Ended>
  void operator()(Computed&& computed, Posted&& posted, Ended&& ended) {
    const WaitingCalls& calls = job_.calls;
    const Posts& posts = job_.posts;
    for (const Number each : job_.order) {
      const auto which = static_cast<std::size_t>(each >> 1);
      if ((each & 1) == 0) {
        compute(posts.rank[which], posts.time[which], posts.step[which], computed);
        posted(which);
        continue;
      }
      compute(calls.rank[which], calls.begin[which], calls.step[which], computed);
      ended(which);
      Seconds& since = since_[static_cast<std::size_t>(calls.rank[which])];
      since = std::max(since, calls.end[which]);
    }
  }

 private:
  template <class Computed>
  void compute(Number rank, Seconds until, Number step, Computed&& computed) {
    const auto at = static_cast<std::size_t>(rank);
    if (!(until > since_[at])) return;
    Seconds& left = left_[static_cast<std::size_t>(step) * since_.size() + at];
    const Seconds beyond = std::min(left, until - since_[at]);
    if (beyond > 0) {
      left -= beyond;
      computed(at, beyond);
    }
    since_[at] = until;
  }

  const TracedJob& job_;
  std::vector<Seconds> since_;  // when each rank last left a call, or posted
  std::vector<Seconds> left_;   // what is beyond and has not come yet
};

/// By whose longer computation, and where, a rank's clock is late.
using Key = std::pair<Number, Number>;  // rank and place
using Account = std::vector<std::pair<Key, Seconds>>;
using SharedAccount = std::shared_ptr<const Account>;  // null: nothing

SharedAccount with(const SharedAccount& before, const Key& key, Seconds seconds) {
  auto after = before ? std::make_shared<Account>(*before) : std::make_shared<Account>();
  const auto at = std::ranges::lower_bound(*after, key, {}, &Account::value_type::first);
  if (at != after->end() && at->first == key) {
    at->second += seconds;
  } else {
    after->insert(at, {key, seconds});
  }
  return after;
}

class Charging {
 public:
  explicit Charging(const TracedJob& job)
      : job_(job),
        accounts_(job.start.size()),
        after_(job.start.size(), 0),
        snapshots_(job.posts.rank.size()),
        posted_(job.posts.rank.size(), false) {
    for (auto* const sums : {&found_.direct, &found_.waiting, &found_.moving}) {
      sums->assign(job.start.size(), 0);
    }
  }

  Origins run() {
    Pass pass(job_);
    pass(
        [this](std::size_t rank, Seconds beyond) {
          const Key key{static_cast<Number>(rank), after_[rank]};
          accounts_[rank] = with(accounts_[rank], key, beyond);
        },
        [this](std::size_t post) {
          snapshots_[post] = accounts_[static_cast<std::size_t>(job_.posts.rank[post])];
          posted_[post] = true;
        },
        [this](std::size_t call) { end(call); });
    for (const auto& [key, seconds] : charged_) {
      found_.charges.push_back({key.first, key.second, seconds});
    }
    return std::move(found_);
  }

 private:
  void end(std::size_t call) {
    const WaitingCalls& calls = job_.calls;
    const auto rank = static_cast<std::size_t>(calls.rank[call]);
    const Seconds inside = calls.end[call] - calls.begin[call];
    const Seconds waited = calls.cause[call] < 0 ? 0 : wait(call, rank);
    if (calls.meets[call] != 0) accounts_[rank].reset();  // all ranks' are alike now
    found_.moving[rank] += std::max(inside - waited, 0.0);
    after_[rank] = calls.place[call];
  }

  /// Charges what the rank waited in the call, and returns that.
  Seconds wait(std::size_t call, std::size_t rank) {
    const WaitingCalls& calls = job_.calls;
    const auto cause = static_cast<std::size_t>(calls.cause[call]);
    const auto other = static_cast<std::size_t>(job_.posts.rank[cause]);
    const Seconds waited = std::min(job_.posts.time[cause], calls.end[call]) - calls.begin[call];
    if (!(waited > 0) || other == rank) return 0;
    // Where clocks are off the post may come later in the order.
    const SharedAccount theirs = posted_[cause] ? snapshots_[cause] : accounts_[other];
    charge(waited, accounts_[rank], theirs);
    accounts_[rank] = theirs;
    found_.direct[other] += waited;
    found_.waiting[rank] += waited;
    ++found_.waits;
    return waited;
  }

  /// By what the other's account is ahead of the waiting rank's; the rest is order.
  void charge(Seconds waited, const SharedAccount& mine, const SharedAccount& theirs) {
    const Account nothing;
    const Account& a = mine ? *mine : nothing;
    const Account& b = theirs ? *theirs : nothing;
    ahead_.clear();
    Seconds order = waited;
    Seconds whole = 0;
    for (auto at = a.begin(), their = b.begin(); at != a.end() || their != b.end();) {
      const bool both = at != a.end() && their != b.end() && at->first == their->first;
      const bool only_mine =
          !both && (their == b.end() || (at != a.end() && at->first < their->first));
      const Key& key = only_mine ? at->first : their->first;
      const Seconds ahead = only_mine ? -at->second : their->second - (both ? at->second : 0);
      order -= ahead;
      if (ahead > 0) {
        ahead_.emplace_back(key, ahead);
        whole += ahead;
      }
      if (both || only_mine) ++at;
      if (!only_mine) ++their;
    }
    whole += std::max(order, 0.0);
    if (!(whole > 0)) {
      found_.order += waited;
      return;
    }
    for (const auto& [key, seconds] : ahead_) charged_[key] += waited * seconds / whole;
    found_.order += waited * std::max(order, 0.0) / whole;
  }

  const TracedJob& job_;
  std::vector<SharedAccount> accounts_;
  std::vector<Number> after_;             // the place of each rank's last call
  std::vector<SharedAccount> snapshots_;  // by post
  std::vector<bool> posted_;
  std::map<Key, Seconds> charged_;
  Account ahead_;
  Origins found_;
};

}  // namespace

Origins find_origins(const TracedJob& job) {
  check(job);
  return Charging(job).run();
}

std::vector<Seconds> ahead_without(const TracedJob& job, std::span<const Number> marks) {
  check(job);
  check_length(marks.size(), job.start.size(), "marks");
  std::vector<Seconds> ahead(job.start.size(), 0);
  std::vector<Seconds> of_post(job.posts.rank.size(), 0);
  Pass pass(job);
  pass(
      [&](std::size_t rank, Seconds beyond) {
        if (marks[rank] != 0) ahead[rank] += beyond;
      },
      [&](std::size_t post) {
        of_post[post] = ahead[static_cast<std::size_t>(job.posts.rank[post])];
      },
      [&](std::size_t call) {
        const WaitingCalls& calls = job.calls;
        Seconds& mine = ahead[static_cast<std::size_t>(calls.rank[call])];
        Seconds came = calls.begin[call];
        Seconds ready = came - mine;
        if (const Number cause = calls.cause[call]; cause >= 0) {
          const auto post = static_cast<std::size_t>(cause);
          const Seconds posted = std::min(job.posts.time[post], calls.end[call]);
          ready = std::max(ready, posted - of_post[post]);
          came = std::max(came, posted);
        }
        mine = came - ready;
      });
  return ahead;
}

}  // namespace latecomer
