#include "runtime/report/counters.hpp"

namespace latecomer {
namespace {

constexpr Counter kCounters[] = {
    {"handled", &latecomer_stats::handled},
    {"native", &latecomer_stats::native},
    {"failed", &latecomer_stats::failed},
    {"fallback_arguments", &latecomer_stats::fallback_arguments},
    {"fallback_intercommunicator", &latecomer_stats::fallback_intercommunicator},
    {"fallback_trivial", &latecomer_stats::fallback_trivial},
    {"fallback_type", &latecomer_stats::fallback_type},
    {"fallback_operator", &latecomer_stats::fallback_operator},
    {"fallback_plan", &latecomer_stats::fallback_plan},
    {"fallback_settings", &latecomer_stats::fallback_settings},
    {"fallback_link", &latecomer_stats::fallback_link},
    {"fallback_device", &latecomer_stats::fallback_device},
    {"before_arrival", &latecomer_stats::before_arrival, false},
};
static_assert(sizeof(latecomer_stats) == std::size(kCounters) * sizeof(std::uint64_t),
              "every counter needs its row");

}  // namespace

std::span<const Counter> counters() { return kCounters; }

void add(latecomer_stats& to, const latecomer_stats& other) {
  for (const Counter& counter : kCounters) to.*counter.member += other.*counter.member;
}

std::uint64_t total(const latecomer_stats& stats) {
  std::uint64_t sum = 0;
  for (const Counter& counter : kCounters) {
    if (counter.of_calls) sum += stats.*counter.member;
  }
  return sum;
}

}  // namespace latecomer
