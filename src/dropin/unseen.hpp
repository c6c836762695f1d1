// Time in calls of MPI in which a process may wait, and which have no record: locks of windows, one
// rank's reading and writing, collectives of two groups, and calls that test for messages in vain.
// Those of a thread with no recorded call between them are one interval, which is written when that
// is entered. Where messages are timed and not recorded, they are such calls, too.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/trace/outside.hpp"
#include "runtime/trace/tracer.hpp"
#include "trace/records.hpp"

namespace latecomer::unseen {

/// The number of the next message.
inline std::atomic<std::uint32_t> next_message{0};

/// A call of these kinds, bits of trace::OtherCalls, has ended.
void add(std::uint8_t calls, std::int64_t begin, std::int64_t end);
/// A call that is recorded is entered.
void write();
/// The time of all threads in such calls, where messages are timed, in nanoseconds; -1: it is not
/// measured.
[[nodiscard]] std::int64_t total();
void begin_total();

/// A call that tests is entered, as others that did so in vain before it. If it has success, it is
/// a wait.
struct Polled {
  std::int64_t begin;    // its entry, earlier by the time that was waited before
  std::int64_t between;  // time between those calls that may be a wait or computation
};
[[nodiscard]] Polled polled(std::int64_t entry);
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

/// Makes a call, and adds it.
template <class Native>
int timed(std::uint8_t calls, const Native& native) {
  outside::entered();
  const std::int64_t begin = trace::now_ns();
  const int code = native();
  add(calls, begin, trace::now_ns());
  // Between two calls that test a process may wait for what they test.
  if ((calls & trace::OtherCalls::polling) == 0) outside::left();
  return code;
}
/// The same, with the file's status. `site`: where the program called from.
template <class Native>
int in(std::uint8_t calls, const void* site, const Native& native) {
  const Inside inside(calls, trace::now_ns(), site);
  return timed(calls, native);
}

}  // namespace latecomer::unseen
