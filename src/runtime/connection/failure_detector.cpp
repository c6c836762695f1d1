#include "runtime/connection/failure_detector.hpp"

#include <algorithm>

#include "base/if_memory.hpp"
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

void FailureDetector::continue_after(std::uint64_t position, std::uint64_t calls) {
  earlier_ = position;
  earlier_calls_ = calls;
  history_.fill({});
  here_ = {position + 1, calls + 1};
}

void FailureDetector::set_place(const Place& place) {
  here_ = place;
  asked_.clear();
  if (place.part == Part::none) announced_ = false;
  if (place.part == Part::announcement) announced_ = true;
  if (place.part <= Part::announcement) return;
  history_[noted_++ % kHistory] = {place, announced_};
}

void FailureDetector::enter_call(std::uint64_t position, std::uint64_t call) {
  set_place({position, call});
}

void FailureDetector::enter_part(Part part, std::uint64_t plan_hash) {
  set_place({here_.position, here_.call, part, plan_hash});
}

std::optional<std::string> FailureDetector::leave_to_library(std::uint64_t position) {
  set_place({position, here_.call, Part::left});
  receive();
  for (const Received& received : unread_) {
    if (received.notice.kind != kAsk || is_ahead(received.notice)) continue;
    if (auto wrong = conflict_of(received)) return wrong;
  }
  return std::nullopt;
}

void FailureDetector::ask(Rank peer) {
  if (std::find(asked_.begin(), asked_.end(), peer) != asked_.end()) return;
  asked_.push_back(peer);
  send(peer, kAsk);
}

void FailureDetector::announce_failure() {
  (void)if_memory([this] { receive(); });
  for (Rank peer = 0; peer < link_.ranks(); ++peer) {
    const bool failed = std::find(failed_.begin(), failed_.end(), peer) != failed_.end();
    if (peer != link_.me() && !failed) send_failure(peer);
  }
  (void)if_memory([] { (void)end_with_mpi(stay_for_notices); });
}

/// Where there is no memory the last notice goes, which then stays as long as the process: MPI may
/// read it until the very end.
void FailureDetector::send_failure(Rank peer) {
  if (if_memory([&] { send(peer, kFailed); })) return;
  static_assert(std::is_trivially_copyable_v<Notice>);
  if (last_notice_) kept_notice_ = last_notice_.release();
  *kept_notice_ = {kFailed, here_};
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Isend(kept_notice_, sizeof(Notice), MPI_BYTE, link_.place(peer), link_.tag(Tags::kFailures),
             link_.comm(), &request);
  PMPI_Request_free(&request);
}

void FailureDetector::send(Rank peer, Kind kind) {
  const Notice notice{kind, here_};
  mailbox_.send(peer, &notice, sizeof notice);
}

void FailureDetector::receive() {
  while (const auto envelope = mailbox_.receive()) {
    const auto notice = envelope->as<Notice>();
    if (!notice) continue;
    unread_.push_back({envelope->from, *notice});
    if (notice->kind == kFailed && !is_earlier_communicators(*notice))
      failed_.push_back(envelope->from);
  }
}

std::optional<std::string> FailureDetector::check() {
  receive();
  std::optional<std::string> wrong;
  const auto is_past = [&](const Received& received) {
    if (received.notice.kind == kAsk && is_ahead(received.notice)) return false;
    if (!wrong) wrong = conflict_of(received);
    return true;
  };
  unread_.erase(std::remove_if(unread_.begin(), unread_.end(), is_past), unread_.end());
  return wrong;
}

/// True if this rank may still reach the notice's place.
bool FailureDetector::is_ahead(const Notice& notice) const {
  const Place& place = notice.from;
  return place.position > here_.position ||
         (place.position == here_.position && here_.part < std::max(place.part, Part::plan));
}

/// Returns the conflict that a notice reveals. Notices of unknown kinds are ignored.
std::optional<std::string> FailureDetector::conflict_of(const Received& received) const {
  const Notice& notice = received.notice;
  if (notice.kind > kFailed || is_earlier_communicators(notice)) return std::nullopt;
  const std::string who = "rank " + std::to_string(received.from);
  const std::string where = " in call " + std::to_string(notice.from.call - earlier_calls_);
  if (notice.kind == kFailed) return who + " failed" + where;
  for (const auto& [place, announced] : history_) {
    if (place.position != notice.from.position) continue;
    if (place.part == Part::left) {
      return who + " waits" + where + ", which this rank left to the MPI library";
    }
    if (notice.from.part == Part::announcement && !announced) {
      return who + " waits" + where +
             " for rank 0 to announce a plan, and this rank made its own: do the counts differ?";
    }
    if (place.part == notice.from.part && place.plan_hash != notice.from.plan_hash) {
      return who + " follows another plan than this rank" + where;
    }
  }
  return std::nullopt;
}

}  // namespace latecomer
