#include "dropin/unseen.hpp"

#include <algorithm>

namespace latecomer::unseen {
namespace {

/// Shorter intervals are not written, and shorter times between two calls count as time in them.
constexpr std::int64_t kLeast = 1000;  // nanoseconds

struct Interval {
  trace::Other record;        // `calls` 0: there was none
  bool ends_by_poll = false;  // its last call is one that tests
};
constinit thread_local Interval interval;

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
    come_back(record, begin - record.end, polls);
  }
  record.inside += std::max<std::int64_t>(end - begin, 0);
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
  if (interval.record.calls == 0) return {entry, 0};
  if (interval.record.calls != trace::OtherCalls::polling) {
    write();
    return {entry, 0};
  }
  trace::Other until = interval.record;
  come_back(until, entry - until.end, true);
  return {entry - until.inside, until.between};
}

void forget() { interval = {}; }

}  // namespace latecomer::unseen
