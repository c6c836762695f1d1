#include "dropin/unseen.hpp"

#include <time.h>

#include <algorithm>

namespace latecomer::unseen {
namespace {

/// Shorter intervals are not written, and shorter times between two calls count as time in them.
constexpr std::int64_t kLeast = 1000;  // nanoseconds

struct Interval {
  trace::Other record;        // `calls` 0: there was none
  bool ends_by_poll = false;  // its last call is one that tests
  std::int64_t longest = 0;   // time between two that test
  std::int64_t first = 0;     // time in the first call ...
  std::int64_t spent = 0;     // ... and the thread's time on processors at its end
};
constinit thread_local Interval interval;

std::int64_t on_processors() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

/// The process comes back to MPI after so long.
void come_back(trace::Other& record, std::int64_t after, bool polls) {
  if (after < kLeast) {
    record.inside += after;
  } else if (polls && interval.ends_by_poll) {
    record.between += after;
  }
}

}  // namespace

void add(std::uint8_t calls, std::int64_t begin, std::int64_t end) {
  trace::Other& record = interval.record;
  const bool polls = (calls & trace::OtherCalls::polling) != 0;
  if (record.calls == 0) {
    record.begin = begin;
  } else {
    begin = std::max(begin, record.end);  // a call within another one
    if (polls && interval.ends_by_poll) {
      interval.longest = std::max(interval.longest, begin - record.end);
    }
    come_back(record, begin - record.end, polls);
  }
  record.inside += std::max<std::int64_t>(end - begin, 0);
  if (record.calls == 0 && polls) {
    interval.first = record.inside;
    interval.spent = on_processors();
  }
  record.end = std::max(record.end, end);
  record.calls |= calls;
  interval.ends_by_poll = polls;
}

Inside::Inside(std::uint8_t calls, std::int64_t since, const void* site)
    : waits_((calls & trace::OtherCalls::polling) == 0) {
  if (!waits_) return;
  trace::Status status;
  status.doing = trace::Doing::other;
  status.what = calls;
  status.since = since;
  trace::enter(status, site);
}

Inside::~Inside() {
  if (waits_) trace::leave();
}

void write() {
  if (interval.record.calls == 0) return;
  if (interval.record.inside >= kLeast)
    trace::add(interval.record, next_message.load(std::memory_order_relaxed));
  forget();
}

Polled polled(std::int64_t entry) {
  if (interval.record.calls == 0) return {entry, 0, entry};
  if (interval.record.calls != trace::OtherCalls::polling) {
    write();
    return {entry, 0, entry};
  }
  trace::Other until = interval.record;
  come_back(until, entry - until.end, true);
  return {entry - until.inside, until.between, entry};
}

Polled without_sleep(const Polled& since, std::int64_t end) {
  if (since.between == 0) return since;
  const std::int64_t in_calls = end - since.begin - interval.first;
  const std::int64_t computed =
      std::max<std::int64_t>(on_processors() - interval.spent - in_calls, 0);
  const std::int64_t longest = std::max(interval.longest, since.entry - interval.record.end);
  const std::int64_t slept = std::max<std::int64_t>(since.between - computed - longest, 0);
  return {since.begin - slept, since.between - slept, since.entry};
}

void forget() { interval = {}; }

}  // namespace latecomer::unseen
