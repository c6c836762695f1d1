#include "runtime/control.hpp"

#include <algorithm>

#include "transports/mpi/tags.hpp"

namespace latecomer {
namespace {

constexpr std::size_t kHistory = 16;
constexpr int kWords = 3;

}  // namespace

Control::~Control() {
  for (Sent& sent : sent_) {
    int done = 0;
    PMPI_Test(&sent.request, &done, MPI_STATUS_IGNORE);
    if (done == 0) PMPI_Request_free(&sent.request);
  }
}

void Control::enter(std::uint64_t call, std::uint64_t plan_hash) {
  history_.push_back({call, plan_hash});
  if (history_.size() > kHistory) history_.pop_front();
  asked_.clear();
}

void Control::ask(Rank peer) {
  if (std::find(asked_.begin(), asked_.end(), peer) != asked_.end()) return;
  asked_.push_back(peer);
  send(peer, kAsk);
}

void Control::alarm() {
  int me = 0;
  int ranks = 0;
  PMPI_Comm_rank(comm_, &me);
  PMPI_Comm_size(comm_, &ranks);
  for (Rank peer = 0; peer < ranks; ++peer) {
    if (peer != me) send(peer, kAlarm);
  }
}

void Control::send(Rank peer, Kind kind) {
  used_ = true;
  const Letter letter{kind, now().call, now().plan_hash};
  Sent& sent = sent_.emplace_back(Sent{letter, MPI_REQUEST_NULL});
  PMPI_Isend(&sent.letter, kWords, MPI_UINT64_T, peer, Tags::kControl, comm_, &sent.request);
}

void Control::receive() {
  for (;;) {
    int found = 0;
    MPI_Status status;
    const int code = PMPI_Iprobe(MPI_ANY_SOURCE, Tags::kControl, comm_, &found, &status);
    if (code != MPI_SUCCESS || found == 0) return;
    used_ = true;
    Received received{status.MPI_SOURCE, {}};
    PMPI_Recv(&received.letter, kWords, MPI_UINT64_T, status.MPI_SOURCE, Tags::kControl, comm_,
              MPI_STATUS_IGNORE);
    unread_.push_back(received);
  }
}

std::optional<std::string> Control::read() {
  receive();
  std::optional<std::string> wrong;
  const auto is_past = [&](const Received& received) {
    if (received.letter.kind == kAsk && received.letter.call > now().call) return false;
    if (!wrong) wrong = judge(received);
    return true;
  };
  unread_.erase(std::remove_if(unread_.begin(), unread_.end(), is_past), unread_.end());
  return wrong;
}

std::optional<std::string> Control::judge(const Received& received) const {
  const Letter& letter = received.letter;
  const std::string who = "rank " + std::to_string(received.from);
  const std::string where = " in call " + std::to_string(letter.call);
  if (letter.kind == kAlarm) return who + " failed" + where;
  for (const Entered& entered : history_) {
    if (entered.call == letter.call && entered.plan_hash != letter.plan_hash) {
      return who + " follows another plan than this rank" + where;
    }
  }
  return std::nullopt;
}

}  // namespace latecomer
