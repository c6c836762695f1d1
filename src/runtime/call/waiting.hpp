// What every wait for other ranks does while nothing comes: it gives the processor away, reports
// when it has become long, and hears whether another rank failed.
#pragma once

#include <optional>
#include <string>

#include "runtime/call/long_wait.hpp"
#include "runtime/connection/comm_resources.hpp"
#include "schedule/plan.hpp"
#include "transports/mpi/backoff.hpp"

namespace latecomer {

struct WaitOptions {
  MPI_Comm user;  // for reports
  Seconds long_wait;
  std::uint64_t calls_ahead = 0;  // the call waited in, after those begun
  const Plan* plan = nullptr;     // of the call, where there is one
};

class Waiting {
 public:
  Waiting(CommResources& resources, const WaitOptions& options)
      : resources_(resources),
        options_(options),
        wait_(options.long_wait),
        backoff_(kRankSleeps, resources.oversubscribed) {}

  void progressed() {
    wait_.progressed();
    backoff_.progressed();
  }
  /// Nothing came. `report` is called when a report is due.
  template <class Report>
  void pause(Report&& report) {
    if (wait_.idle()) report();
    listen();
    backoff_.pause(wait_.now());
  }
  /// Says on stderr how long this rank has been waiting, and `for_what`.
  void say(const std::string& for_what) const;
  /// Why there is nothing to wait for any more: another rank failed.
  [[nodiscard]] const std::optional<std::string>& trouble() const { return trouble_; }

 private:
  void listen();

  CommResources& resources_;
  WaitOptions options_;
  LongWait wait_;
  Backoff backoff_;
  Seconds next_control_ = 0;
  std::optional<std::string> trouble_;
};

}  // namespace latecomer
