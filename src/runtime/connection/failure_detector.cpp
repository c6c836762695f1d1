#include "runtime/connection/failure_detector.hpp"

#include "runtime/finalize.hpp"
#include "transports/mpi/backoff.hpp"

namespace latecomer {
namespace {

/// Other ranks may fail at the same time and announce it to this one. MPICH on libfabric's tcp
/// provider waits forever for a connection to a process that is gone, so this one stays for a
/// while.
void stay_for_notices() {
  constexpr Seconds kFor = 0.5;
  const auto progress = [] {
    int found = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
    return false;
  };
  (void)wait_until(progress, kFor);
}

}  // namespace

std::optional<std::string> FailureDetector::leave_to_library(std::uint64_t position) {
  Notices::leave_to_library(position);
  receive();
  return check_left();
}

void FailureDetector::ask(Rank peer) {
  if (const auto question = Notices::ask(peer)) send(peer, *question);
}

void FailureDetector::announce_failure() {
  receive();
  for (Rank peer = 0; peer < link_.ranks(); ++peer) {
    if (peer != link_.me() && !has_failed(peer)) send(peer, failure());
  }
  (void)end_with_mpi(stay_for_notices);
}

std::optional<std::string> FailureDetector::check() {
  receive();
  return Notices::check();
}

void FailureDetector::send(Rank peer, const Notice& notice) {
  mailbox_.send(peer, &notice, sizeof notice);
}

void FailureDetector::receive() {
  while (const auto envelope = mailbox_.receive()) {
    if (const auto notice = envelope->as<Notice>()) hear(envelope->from, *notice);
  }
}

}  // namespace latecomer
