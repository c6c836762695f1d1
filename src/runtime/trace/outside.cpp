#include "runtime/trace/outside.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "trace/trace_file.hpp"

namespace latecomer::outside {
namespace {

constexpr double kShare = 0.002;     // of the time is for asking the system, at most
constexpr double kFewest = 1 << 20;  // one time of so many is in the sample, at least

/// The system's account of this thread since it began. Times are in nanoseconds.
struct Usage {
  std::int64_t asked = 0;  // when this was asked, ...
  std::int64_t time = 0;   // ... and when it was known
  std::int64_t used = 0;   // of processors
  std::int64_t preemptions = 0;
  std::int64_t sleeps = 0;
  std::int64_t ready = 0;  // without a processor; -1: this system does not tell
};

std::int64_t in_ns(const timeval& time) {
  return (time.tv_sec * std::int64_t{1'000'000} + time.tv_usec) * 1000;
}

/// The second number of Linux's file. It is not kept open: the program may close it, or count its
/// files.
std::int64_t time_ready() {
  const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  std::array<char, 96> text{};
  const ssize_t bytes = read(file, text.data(), text.size());
  close(file);
  const std::string_view words(text.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  const std::size_t second = words.find(' ') + 1;  // 0: there is none
  std::int64_t time = -1;
  if (second > 0) (void)std::from_chars(words.data() + second, words.data() + words.size(), time);
  return time;
}

Usage usage() {
  Usage now;
  now.asked = trace::now_ns();
  now.ready = time_ready();
  rusage own{};
  (void)getrusage(RUSAGE_THREAD, &own);
  now.used = in_ns(own.ru_utime) + in_ns(own.ru_stime);
  now.preemptions = own.ru_nivcsw;
  now.sleeps = own.ru_nvcsw;
  now.time = trace::now_ns();
  return now;
}

struct Sample {
  std::int64_t began = 0;
  Usage begin;
  std::int64_t cost = INT64_MAX;  // of asking twice, at least
  std::int64_t drawn = 0;         // when the next time was drawn, ...
  double calls = 1;               // ... which stands for so many
  double drawn_calls = 1;         // until that
  std::uint64_t random = 1;
  double time = 0;
  double preempted = 0;
  double blocked = 0;
};
constinit thread_local Sample sample;

/// Uniform from 1 to `most`. (Marsaglia's xorshift.)
std::uint32_t drawn_to(double most) {
  std::uint64_t& state = sample.random;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<std::uint32_t>(state % static_cast<std::uint64_t>(most)) + 1;
}

/// Draws the next time of the sample, so far away that asking takes its share, but at most twice as
/// far as the last one: a program may begin with short times. It is drawn since steps have a
/// pattern.
void draw(std::int64_t now) {
  const double each = std::max(1.0, static_cast<double>(now - sample.drawn) / sample.drawn_calls);
  const double most = std::min(2 * sample.calls, kFewest);
  sample.calls =
      std::clamp(std::round(static_cast<double>(sample.cost) / kShare / each), 1.0, most);
  next = {false, drawn_to(2 * sample.calls - 1)};
  sample.drawn = now;
  sample.drawn_calls = next.calls;
}

/// The part of a time off processors in which the thread was ready to run.
double part_ready(const Usage& begin, const Usage& end, std::int64_t off) {
  if (begin.ready >= 0 && end.ready >= 0) {
    return std::clamp(static_cast<double>(end.ready - begin.ready) / static_cast<double>(off), 0.0,
                      1.0);
  }
  const auto preemptions = static_cast<double>(end.preemptions - begin.preemptions);
  return preemptions / (preemptions + static_cast<double>(end.sleeps - begin.sleeps));
}

std::int64_t rounded(double time) { return std::llround(time); }

}  // namespace

void begin() {
  sample = {};
  sample.began = sample.drawn = trace::now_ns();
  start();
}

void start() {
  next = {true, 0};
  sample.begin = usage();
}

void stop() {
  const Usage now = usage();
  const Usage& begin = sample.begin;
  const std::int64_t took = now.asked - begin.time;
  const std::int64_t off = took - (now.used - begin.used);
  sample.cost = std::min(sample.cost, now.time - now.asked + begin.time - begin.asked);
  sample.time += sample.calls * static_cast<double>(took);
  const bool left = now.preemptions + now.sleeps > begin.preemptions + begin.sleeps;
  if (left && off > 0) {
    const double whole = sample.calls * static_cast<double>(off);
    const double ready = part_ready(begin, now, off);
    sample.preempted += ready * whole;
    sample.blocked += (1 - ready) * whole;
  }
  draw(now.time);
}

/// Long times in the sample may stand for more time than there was: then their shares count.
trace::Outside totals() {
  trace::Outside all;
  const auto elapsed = static_cast<double>(trace::now_ns() - sample.began);
  const double scale = sample.time > elapsed ? elapsed / sample.time : 1.0;
  all.time = rounded(scale * sample.time);
  all.preempted = std::min(rounded(scale * sample.preempted), all.time);
  all.blocked = std::min(rounded(scale * sample.blocked), all.time - all.preempted);
  return all;
}

}  // namespace latecomer::outside
