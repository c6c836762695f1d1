// Time outside of MPI: on a processor, preempted, or blocked.
#include "runtime/trace/outside.hpp"

#include <chrono>
#include <thread>

#include "communicator.hpp"
#include "trace/trace_file.hpp"

namespace latecomer::testing {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

void sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

bool are_parts(const trace::Outside& all) {
  return all.preempted >= 0 && all.blocked >= 0 && all.preempted + all.blocked <= all.time;
}

/// Work in a thread, which nothing is known of.
template <class Work>
void in_thread(Work&& work) {
  std::thread(std::forward<Work>(work)).join();
}

MPI_TEST(who_sleeps_between_calls_is_blocked) {
  in_thread([&] {
    outside::begin();
    constexpr int kCalls = 20;
    for (int call = 0; call < kCalls; ++call) {
      sleep();
      outside::entered();
      outside::left();
    }
    const trace::Outside all = outside::totals();
    CHECK(all.time >= 5 * kMillisecond);  // the first time is in each sample
    CHECK(all.blocked > 0);
    CHECK(all.blocked + all.preempted >= all.time / 2);
    CHECK(are_parts(all));
  });
}

MPI_TEST(time_in_calls_is_not_outside) {
  in_thread([&] {
    outside::begin();
    outside::entered();
    const std::int64_t before = outside::totals().time;
    sleep();
    outside::left();
    outside::entered();
    CHECK(outside::totals().time - before < 5 * kMillisecond || outside::totals().blocked == 0);
  });
}

/// As of a function of an attribute, which MPI calls.
MPI_TEST(a_call_within_a_call_ends_nothing) {
  in_thread([&] {
    outside::begin();
    outside::entered();
    const trace::Outside before = outside::totals();
    outside::left();  // of the inner call
    sleep();
    outside::left();
    outside::entered();
    CHECK(outside::totals().blocked == before.blocked);
  });
}

MPI_TEST(of_a_thread_that_did_not_begin_nothing_is_known) {
  in_thread([&] {
    outside::left();
    sleep();
    outside::entered();
    CHECK_EQ(outside::totals().time, 0);
  });
}

/// The long times are those in the sample, as may happen by chance.
MPI_TEST(times_outside_of_calls_are_no_longer_than_the_run) {
  in_thread([&] {
    const std::int64_t begin = trace::now_ns();
    outside::begin();
    for (int call = 0, slept = 0; call < 1'000'000 && slept < 20; ++call) {
      outside::entered();
      outside::left();
      if (!outside::next.measures || call < 1000) continue;
      sleep();
      ++slept;
    }
    outside::entered();
    const trace::Outside all = outside::totals();
    CHECK(all.time > 0 && all.time <= trace::now_ns() - begin);
    CHECK(all.blocked > 0);
    CHECK(are_parts(all));
  });
}

MPI_TEST(many_short_times_are_a_sample_that_stands_for_all) {
  in_thread([&] {
    outside::begin();
    const auto begin = std::chrono::steady_clock::now();
    const auto end = begin + std::chrono::milliseconds(50);
    std::uint64_t measured = 0;
    std::uint64_t calls = 0;
    for (; std::chrono::steady_clock::now() < end; ++calls) {
      outside::entered();
      outside::left();
      measured += outside::next.measures ? 1 : 0;
    }
    CHECK(calls < 1000 || measured < calls / 2);
    CHECK(are_parts(outside::totals()));
  });
}

}  // namespace
}  // namespace latecomer::testing
