#include "lateness/origin.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace latecomer {
namespace {

using Number = std::int64_t;

/// By whose longer computation, and where, a rank's clock is late.
using Key = std::pair<Number, Number>;  // rank and place
using Account = std::vector<std::pair<Key, Seconds>>;
using SharedAccount = std::shared_ptr<Account>;  // null: nothing; not changed while it is shared

void add(SharedAccount& to, const Key& key, Seconds seconds) {
  if (to.use_count() != 1) to = to ? std::make_shared<Account>(*to) : std::make_shared<Account>();
  const auto at = std::ranges::lower_bound(*to, key, {}, &Account::value_type::first);
  if (at != to->end() && at->first == key) {
    at->second += seconds;
  } else {
    to->insert(at, {key, seconds});
  }
}

class Charging {
 public:
  explicit Charging(const TracedJob& job)
      : job_(job),
        accounts_(job.start.size()),
        after_(job.start.size(), 0),
        snapshots_(job.posts.rank.size()),
        posted_(job.posts.rank.size(), false),
        waits_left_(job.posts.rank.size(), 0) {
    for (const Number cause : job.calls.cause) {
      if (cause >= 0) ++waits_left_[static_cast<std::size_t>(cause)];
    }
    for (auto* const sums : {&found_.direct, &found_.waiting, &found_.moving}) {
      sums->assign(job.start.size(), 0);
    }
  }

  Origins run() {
    TracedPass pass(job_, job_.calls.beyond);
    pass.run(
        0, job_.order.size(),
        [this](std::size_t rank, Seconds beyond) {
          const Key key{static_cast<Number>(rank), after_[rank]};
          add(accounts_[rank], key, beyond);
        },
        [this](std::size_t post) {
          posted_[post] = true;
          if (waits_left_[post] == 0) return;
          snapshots_[post] = accounts_[static_cast<std::size_t>(job_.posts.rank[post])];
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
    // Where clocks are off the post may come later in the order.
    SharedAccount theirs = posted_[cause] ? snapshots_[cause] : accounts_[other];
    if (--waits_left_[cause] == 0) snapshots_[cause].reset();
    const Seconds waited = std::min(job_.posts.time[cause], calls.end[call]) - calls.begin[call];
    if (!(waited > 0) || other == rank) return 0;
    charge(waited, accounts_[rank], theirs);
    accounts_[rank] = std::move(theirs);
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
  std::vector<std::uint32_t> waits_left_;  // for each post, of calls that may wait for it
  std::map<Key, Seconds> charged_;
  Account ahead_;
  Origins found_;
};

}  // namespace

Origins find_origins(const TracedJob& job) {
  check(job);
  return Charging(job).run();
}

}  // namespace latecomer
