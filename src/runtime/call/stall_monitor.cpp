#include "runtime/call/stall_monitor.hpp"

#include "base/parse.hpp"
#include "runtime/report/log.hpp"

namespace latecomer {
namespace {

constexpr Seconds kFailureCheckInterval = 1e-3;

}  // namespace

void StallMonitor::report(const std::string& for_what, std::span<const Rank> ranks) const {
  const std::string what = options_.plan == nullptr ? "" : " (" + in_words(*options_.plan) + ')';
  log_line(describe(options_.user) + ", call " +
           std::to_string(resources_.calls - resources_.earlier + options_.calls_ahead) + what +
           ": waiting for " + format_fixed(timer_.waited(), 6) + " s " + for_what +
           resources_.hosts.whereabouts(ranks) +
           "; a rank that is waited for may be in the MPI library");
}

void StallMonitor::check_failures() {
  if (timer_.now() < next_check_) return;
  next_check_ = timer_.now() + kFailureCheckInterval;
  trouble_ = resources_.failures.check();
}

}  // namespace latecomer
