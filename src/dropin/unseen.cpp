#include "dropin/unseen.hpp"

#include <time.h>

#include <algorithm>

#include "dropin/fast_path.hpp"
#include "runtime/trace/stamps.hpp"

namespace latecomer::unseen {
namespace {

// In nanoseconds.
/// Shorter intervals are not written, and shorter times between two calls count as time in them.
constexpr std::int64_t kLeast = 1000;
/// Whoever uses the processor for so long between two tests computes there. A test takes 0.3 us, a
/// nap 15 to 40 us of the processor.
constexpr std::int64_t kComputes = 50'000;
/// Asking how much of the processor was used takes 0.2 us: it is not done for shorter times.
constexpr std::int64_t kAsked = 20'000;

struct Interval {
  trace::Other record;        // `calls` 0: there was none
  bool ends_by_poll = false;  // its last call is one that tests
  std::int64_t longest = 0;   // time between two that test, without use of the processor
  std::int64_t spent = 0;     // the thread's time on processors, when that was asked ...
  std::int64_t since = 0;     // ... and the time since then in calls and short times between them
};
constinit thread_local Interval interval;
std::atomic<std::int64_t> of_all_threads{-1};

/// The thread's time on processors since it was asked, but for what is known to be in MPI.
std::int64_t used_processor() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  const std::int64_t now = time.tv_sec * 1'000'000'000 + time.tv_nsec;
  const std::int64_t used = now - interval.spent - interval.since;
  interval.spent = now;
  interval.since = 0;
  return used;
}

/// The process comes back to a call that tests after this time, since another one that did.
void come_back_to_test(std::int64_t after) {
  trace::Other& record = interval.record;
  if (after < kAsked) {
    interval.since += after;
    record.between += after;
    return;
  }
  const std::int64_t used = used_processor();
  if (used >= kComputes) return;
  if (2 * used >= after) {
    record.between += after;
    return;
  }
  // It slept or let others go first: it waited. But the longest such time may be that of a stop, or
  // of a wait for a disk.
  record.inside += std::min(after, interval.longest);
  if (after <= interval.longest) return;
  record.between += after - interval.longest;
  interval.longest = after;
}

/// The process comes back to MPI.
void come_back(std::int64_t now, bool polls) {
  trace::Other& record = interval.record;
  const std::int64_t after = now - record.end;
  if (after <= 0) return;  // a call within another one
  if (after < kLeast) {
    record.inside += after;
    interval.since += after;
  } else if (polls && interval.ends_by_poll) {
    come_back_to_test(after);
  }
  record.end = now;
}

}  // namespace

void add(std::uint8_t calls, std::int64_t begin, std::int64_t end) {
  trace::Other& record = interval.record;
  const bool polls = (calls & trace::OtherCalls::polling) != 0;
  if (record.calls == 0) {
    record.begin = record.end = begin;
  } else {
    come_back(begin, polls);
  }
  const std::int64_t took = std::max<std::int64_t>(end - record.end, 0);
  record.inside += took;
  interval.since += took;
  record.end = std::max(record.end, end);
  record.calls |= calls;
  // In a long call the thread may have slept.
  if (polls && (!interval.ends_by_poll || took >= kAsked)) (void)used_processor();
  interval.ends_by_poll = polls;
}

Inside::Inside(std::uint8_t calls, std::int64_t since, const void* site)
    : waits_((calls & trace::OtherCalls::polling) == 0) {
  if (!waits_) return;
  trace::Status status;
  status.doing = trace::Doing::other;
  status.what = calls;
  status.since = since;
  trace::recorder()->enter(status, site);
}

Inside::~Inside() {
  if (waits_) trace::recorder()->leave();
}

void write() {
  const trace::Other& record = interval.record;
  if (record.calls == 0) return;
  if (fast_path.messages.load(std::memory_order_relaxed) == Messages::timed) {
    stamps::inside += record.inside;
    of_all_threads.fetch_add(record.inside, std::memory_order_relaxed);
  } else if (record.inside >= kLeast) {
    trace::recorder()->add(record, next_message.load(std::memory_order_relaxed));
  }
  forget();
}

void begin_total() { of_all_threads = 0; }
std::int64_t total() { return of_all_threads.load(std::memory_order_relaxed); }

Polled polled(std::int64_t entry) {
  if (interval.record.calls != trace::OtherCalls::polling) {
    write();
    return {entry, 0};
  }
  come_back(entry, true);
  return {entry - interval.record.inside, interval.record.between};
}

void forget() { interval = {}; }

}  // namespace latecomer::unseen
