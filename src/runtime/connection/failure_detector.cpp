#include "runtime/connection/failure_detector.hpp"

#include <type_traits>

#include "base/error.hpp"
#include "runtime/progress/progress_thread.hpp"
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
  (void)if_memory([this] { receive(); });
  for (Rank peer = 0; peer < link_.ranks(); ++peer) {
    if (peer != link_.me() && !has_failed(peer)) send_failure(peer);
  }
  (void)if_memory([] { (void)end_with_mpi(stay_for_notices); });
}

/// Where there is no memory the last notice goes, which then stays as long as the process: MPI may
/// read it until the very end.
void FailureDetector::send_failure(Rank peer) {
  if (if_memory([&] { send(peer, failure()); })) return;
  static_assert(std::is_trivially_copyable_v<Notice>);
  if (last_notice_) kept_notice_ = last_notice_.release();
  *kept_notice_ = failure();
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Isend(kept_notice_, sizeof(Notice), MPI_BYTE, link_.place(peer), link_.tag(Tags::kFailures),
             link_.comm(), &request);
  if (request != MPI_REQUEST_NULL) PMPI_Request_free(&request);  // null: MPI refused the send
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
