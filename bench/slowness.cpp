#include "slowness.hpp"

#include "clock.hpp"

namespace bench {
namespace {

constexpr double kShortest = 100e-6;  // seconds: shorter sleeps take about as long

// Operators are called by the thread that calls the collective.
double an_element = 0;  // seconds
double owed = 0;        // seconds that are still to be lost

}  // namespace

void be_slow(double seconds_an_element) {
  an_element = seconds_an_element;
  owed = 0;
}

void lose_time(std::int64_t elements) {
  owed += an_element * static_cast<double>(elements);
  if (owed < kShortest) return;
  const double begin = now();
  sleep_until(begin + owed);
  owed -= now() - begin;  // time slept too long counts
}

}  // namespace bench
