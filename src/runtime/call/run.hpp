// Runs a protocol on a communicator's resources until it is done or fails.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/types.hpp"
#include "protocol/protocol.hpp"
#include "runtime/connection/comm_resources.hpp"
#include "runtime/connection/sleeping.hpp"
#include "schedule/plan.hpp"
#include "transports/mpi/backoff.hpp"

namespace latecomer {

struct WaitOptions {
  MPI_Comm user;                  // for reports
  Seconds long_wait;              // before it is reported, then at doubling intervals
  std::uint64_t calls_ahead = 0;  // how many calls after the last begun one the wait is in
  const Plan* plan = nullptr;     // of the call; null: there is none
  Seconds expected = 0;           // how long the wait is expected to be; 0: that is not known
};

/// Accompanies a wait for other ranks: while no message arrives it backs off, reports long waits,
/// and checks whether another rank failed.
class StallMonitor {
 public:
  StallMonitor(CommResources& resources, const WaitOptions& options)
      : resources_(resources),
        options_(options),
        sleeps_(kRankSleeps.among(resources.comm->link().ranks())),
        backoff_(sleeps_, resources.sleeping),
        expected_end_(monotonic_clock() + options.expected) {}

  void progressed() {
    waiting_ = false;
    backoff_.progressed();
  }
  /// Called when no message arrived. Calls `report` if a report is due.
  template <class Report>
  void pause(Report&& report) {
    now_ = monotonic_clock();
    if (!std::exchange(waiting_, true)) {
      since_ = now_;
      next_report_ = options_.long_wait;
    } else if (now_ - since_ >= next_report_) {
      next_report_ *= 2;
      report();
    }
    check_failures();
    MpiTransport& transport = resources_.transport;
    backoff_.pause(now_, expected_end_ - now_,
                   transport.may_sleep_on_flags() ? kFlagSleeps : sleeps_, [&](Seconds seconds) {
                     transport.sleep(seconds);
                     note_slept(monotonic_clock() - now_);
                   });
  }
  /// Reports on stderr how long this rank has been waiting, `for_what`, and where those ranks are.
  void report(const std::string& for_what, std::span<const Rank> ranks) const;
  /// The failure of another rank, which makes the wait pointless; empty if there is none.
  [[nodiscard]] const std::optional<std::string>& trouble() const { return trouble_; }

 private:
  void check_failures();

  CommResources& resources_;
  WaitOptions options_;
  Sleeps sleeps_;
  Backoff backoff_;
  Seconds expected_end_;
  bool waiting_ = false;
  Seconds now_ = 0;    // of the last pause ...
  Seconds since_ = 0;  // ... and of the first one after progress
  Seconds next_report_ = 0;
  Seconds next_check_ = 0;
  std::optional<std::string> trouble_;
};

struct Outcome {
  int code = MPI_SUCCESS;
  std::string why;  // the reason of a failure
};

/// `before`: the protocol was started earlier, and only arrives.
enum class Begun : std::uint8_t { now, before };

[[nodiscard]] Outcome run(Protocol& protocol, CommResources& resources, const WaitOptions& options,
                          Begun begun = Begun::now);

/// The outcome of a protocol that failed.
[[nodiscard]] Outcome failure_of(const Protocol& protocol, const CommResources& resources);

/// The error class of "ranks follow different plans" and of failures that another rank reported.
[[nodiscard]] int disagreement_class();

}  // namespace latecomer
