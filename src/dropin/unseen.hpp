// Time in calls of MPI in which a process may wait, and which have no record: those of windows and
// files, on communicators of two groups, and calls that test for messages in vain. Those of a
// thread with no recorded call between them are one interval, which is written when that is
// entered.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/trace/tracer.hpp"
#include "trace/records.hpp"

namespace latecomer::unseen {

/// The number of the next message.
inline std::atomic<std::uint32_t> next_message{0};

/// A call of these kinds, bits of trace::OtherCalls, has ended.
void add(std::uint8_t calls, std::int64_t begin, std::int64_t end);
/// A call that is recorded is entered.
void write();

/// What calls that tested in vain tell of the one that is entered now.
struct Polled {
  std::int64_t begin;    // its entry, earlier by the time in those calls
  std::int64_t between;  // time between them
  std::int64_t entry = 0;
};
[[nodiscard]] Polled polled(std::int64_t entry);
/// That one had success, so it was a wait, until `end`. Time between the tests in which the thread
/// slept belongs to it; but not the longest: then the process may have been stopped, or have waited
/// for a disk.
[[nodiscard]] Polled without_sleep(const Polled& since, std::int64_t end);
/// It is recorded.
void forget();

/// A call of these kinds, in the file's status from its entry to its exit.
class Inside {
 public:
  Inside(std::uint8_t calls, std::int64_t since, const void* site);
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside();

 private:
  bool waits_;  // else it only tests, and is not in the status
};

/// Makes a call, and adds it. `site`: where the program called from.
template <class Native>
int in(std::uint8_t calls, const void* site, const Native& native) {
  const std::int64_t begin = trace::now_ns();
  const Inside inside(calls, begin, site);
  const int code = native();
  add(calls, begin, trace::now_ns());
  return code;
}

}  // namespace latecomer::unseen
