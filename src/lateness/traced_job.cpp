#include "lateness/traced_job.hpp"

#include <cstddef>
#include <deque>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"

namespace latecomer {
namespace {

constexpr std::int64_t kNone = -1;

class Ordering {
 public:
  explicit Ordering(const TracedJob& job)
      : job_(job),
        held_(job.start.size()),
        posted_(job.posts.rank.size(), false),
        came_(job.meetings.came.size(), 0) {
    found_.reserve(job.order.size());
  }

  std::vector<std::int64_t> run() {
    for (std::size_t place = 0; place < job_.order.size(); ++place) {
      const std::size_t rank = rank_of(job_.order[place]);
      held_[rank].push_back(place);
      if (held_[rank].size() == 1) go_on(rank);
    }
    std::vector<std::size_t> left;
    for (const auto& held : held_) left.insert(left.end(), held.begin(), held.end());
    std::ranges::sort(left);
    for (const std::size_t place : left) found_.push_back(job_.order[place]);
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::size_t rank_of(std::int64_t moment) const {
    const auto which = static_cast<std::size_t>(moment >> 1);
    const auto& ranks = (moment & 1) != 0 ? job_.calls.rank : job_.posts.rank;
    return static_cast<std::size_t>(ranks[which]);
  }

  /// Takes moments of this rank, and of those that wait for it, as long as none is held up.
  void go_on(std::size_t first) {
    std::vector<std::size_t> ranks{first};
    while (!ranks.empty()) {
      const std::size_t rank = ranks.back();
      auto& held = held_[rank];
      if (held.empty()) {
        ranks.pop_back();
        continue;
      }
      const std::int64_t moment = job_.order[held.front()];
      const auto which = static_cast<std::size_t>(moment >> 1);
      const std::int64_t missing = (moment & 1) != 0 ? missing_for(which) : kNone;
      if (missing != kNone) {
        waiting_[missing].push_back(rank);
        ranks.pop_back();
        continue;
      }
      found_.push_back(moment);
      held.pop_front();
      if ((moment & 1) != 0) continue;
      posted_[which] = true;
      if (const auto those = waiting_.find(moment >> 1); those != waiting_.end()) {
        ranks.insert(ranks.end(), those->second.begin(), those->second.end());
        waiting_.erase(those);
      }
    }
  }

  /// A post of another rank that this call waits for and that has not come; kNone: there is none.
  [[nodiscard]] std::int64_t missing_for(std::size_t call) {
    const WaitingCalls& calls = job_.calls;
    if (calls.cause[call] >= 0 && is_missing(call, calls.cause[call])) return calls.cause[call];
    if (calls.others.size() != 0) {
      for (const std::int64_t post : calls.others[call]) {
        if (is_missing(call, post)) return post;
      }
    }
    if (calls.meeting[call] < 0) return kNone;
    const auto number = static_cast<std::size_t>(calls.meeting[call]);
    if (job_.meetings.for_all[number] == 0) return kNone;
    const auto members = job_.meetings.came[number];
    for (std::size_t& next = came_[number]; next < members.size(); ++next) {
      if (is_missing(call, members[next])) return members[next];
    }
    return kNone;
  }
  [[nodiscard]] bool is_missing(std::size_t call, std::int64_t post) const {
    const auto which = static_cast<std::size_t>(post);
    return !posted_[which] && job_.posts.rank[which] != job_.calls.rank[call];
  }

  const TracedJob& job_;
  std::vector<std::deque<std::size_t>> held_;  // by rank: places in the order
  std::vector<bool> posted_;
  std::vector<std::size_t> came_;  // by meeting: how many members have come
  std::unordered_map<std::int64_t, std::vector<std::size_t>> waiting_;  // ranks, by the post
  std::vector<std::int64_t> found_;
};

}  // namespace

void check_length(std::size_t length, std::size_t right, const char* what) {
  if (length != right)
    throw Error(what, std::to_string(length), std::to_string(right) + " entries");
}

void check_lists(const Lists& lists, const std::string& what) {
  std::int64_t before = 0;
  for (const std::int64_t first : lists.first) {
    const bool in_order =
        first >= before && static_cast<std::size_t>(first) <= lists.numbers.size();
    if (!in_order) throw Error("first " + what, std::to_string(first), "in order");
    before = first;
  }
}

void check(const TracedJob& job) {
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
  check_range(job.meetings.came.numbers, 0, job.posts.rank.size(), "member of a meeting");
  check_length(job.meetings.for_all.size(), job.meetings.came.size(), "meetings");
  check_length(job.posts.time.size(), job.posts.rank.size(), "posts");
  check_length(job.posts.next.size(), job.posts.rank.size(), "posts");
  check_range(calls.rank, 0, ranks, "rank of a call");
  check_range(calls.cause, -1, job.posts.rank.size(), "cause of a call");
  check_range(job.posts.rank, 0, ranks, "rank of a post");
  check_range(job.posts.next, -1, count, "next call of a post");
  for (const std::int64_t each : job.order) {
    const std::size_t below = (each & 1) != 0 ? count : job.posts.rank.size();
    if (each >= 0 && static_cast<std::size_t>(each >> 1) < below) continue;
    throw Error("place in the order", std::to_string(each), "that of a call or a post");
  }
}

std::vector<std::int64_t> causal_order(const TracedJob& job) {
  check(job);
  return Ordering(job).run();
}

}  // namespace latecomer
