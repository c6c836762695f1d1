#include "lateness/traced_job.hpp"

#include <string>

#include "base/error.hpp"

namespace latecomer {
namespace {

using Number = std::int64_t;

void check(std::span<const Number> numbers, Number least, std::size_t below, const char* what) {
  for (const Number number : numbers) {
    if (number >= least && number < static_cast<Number>(below)) continue;
    throw Error(what, std::to_string(number), "below " + std::to_string(below));
  }
}

}  // namespace

void check_length(std::size_t length, std::size_t right, const char* what) {
  if (length != right)
    throw Error(what, std::to_string(length), std::to_string(right) + " entries");
}

void check(const TracedJob& job) {
  const WaitingCalls& calls = job.calls;
  const std::size_t count = calls.rank.size();
  const std::size_t ranks = job.start.size();
  for (const std::size_t length : {calls.begin.size(), calls.end.size(), calls.place.size(),
                                   calls.cause.size(), calls.meets.size(), calls.beyond.size()}) {
    check_length(length, count, "calls");
  }
  check_length(job.posts.time.size(), job.posts.rank.size(), "posts");
  check_length(job.posts.next.size(), job.posts.rank.size(), "posts");
  check(calls.rank, 0, ranks, "rank of a call");
  check(calls.cause, -1, job.posts.rank.size(), "cause of a call");
  check(job.posts.rank, 0, ranks, "rank of a post");
  check(job.posts.next, -1, count, "next call of a post");
  for (const Number each : job.order) {
    const std::size_t below = (each & 1) != 0 ? count : job.posts.rank.size();
    if (each >= 0 && static_cast<std::size_t>(each >> 1) < below) continue;
    throw Error("place in the order", std::to_string(each), "that of a call or a post");
  }
}

}  // namespace latecomer
