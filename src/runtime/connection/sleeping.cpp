#include "runtime/connection/sleeping.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "runtime/connection/clocks/clocks.hpp"
#include "runtime/settings/environment.hpp"
#include "transports/mpi/communicators.hpp"

namespace latecomer {
namespace {

constexpr const char* kWaitVariable = "LATECOMER_WAIT";

std::atomic<double> all_slept{0};
thread_local constinit Seconds own_slept = 0;

}  // namespace

Sleeping sleeping_of_rank(bool oversubscribed) {
  const std::string text = environment(kWaitVariable).value_or("auto");
  if (text == "sleep") return oversubscribed ? Sleeping::on_shared_core : Sleeping::asked;
  if (text == "poll") return Sleeping::never;
  if (text != "auto") {
    report_unused(kWaitVariable, Error("wait", text, "auto, poll or sleep").what());
  }
  return oversubscribed ? Sleeping::on_shared_core : Sleeping::on_slow_polls;
}

bool asked_to_sleep() { return sleeping_of_rank(false) == Sleeping::asked; }

int wait_asleep(MPI_Request& request, MPI_Comm comm) {
  const Sleeps sleeps = kRankSleeps.among(ranks_of(comm));
  Backoff backoff(sleeps, Sleeping::asked);
  int done = 0;
  int code = PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
  while (code == MPI_SUCCESS && done == 0) {
    const Seconds begin = monotonic_clock();
    backoff.pause(begin, 0, sleeps, [&](Seconds seconds) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      note_slept(monotonic_clock() - begin);
    });
    code = PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
  return code;
}

void note_slept(Seconds seconds) {
  all_slept.fetch_add(seconds, std::memory_order_relaxed);
  own_slept += seconds;
}

Seconds slept() { return all_slept.load(std::memory_order_relaxed); }

Seconds slept_by_thread() { return own_slept; }

}  // namespace latecomer
