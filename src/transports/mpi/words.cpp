#include "transports/mpi/words.hpp"

#include <sched.h>

#include "transports/mpi/tags.hpp"

namespace latecomer {

Words::Words(MPI_Comm comm) : comm_(comm) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  sent_.resize(static_cast<std::size_t>(ranks));
}

Words::~Words() {
  for (Sent& sent : leaving_) {
    if (sent.request != MPI_REQUEST_NULL) PMPI_Request_free(&sent.request);
  }
}

void Words::note(int code) {
  if (error_ == MPI_SUCCESS) error_ = code;
}

void Words::tell(Rank to, std::uint64_t word) {
  forget_sent();
  used_ = true;
  Sent& sent = leaving_.emplace_back(Sent{{call_, word}, MPI_REQUEST_NULL});
  note(PMPI_Isend(sent.letter.data(), static_cast<int>(sent.letter.size()), MPI_UINT64_T, to,
                  Tags::kWords, comm_, &sent.request));
  ++sent_[static_cast<std::size_t>(to)];
}

void Words::forget_sent() {
  for (auto sent = leaving_.begin(); sent != leaving_.end();) {
    int done = 0;
    note(PMPI_Test(&sent->request, &done, MPI_STATUS_IGNORE));
    sent = done != 0 ? leaving_.erase(sent) : std::next(sent);
  }
}

std::optional<Words::Word> Words::next() {
  if (const auto kept = next_kept()) return kept;
  while (const auto received = receive()) {
    const auto& [call, word] = received->letter;
    if (call == call_) return Word{received->from, word};
    if (call > call_) kept_.push_back(*received);
  }
  return std::nullopt;
}

/// Of those that came in earlier calls: what they are older than is over.
std::optional<Words::Word> Words::next_kept() {
  std::erase_if(kept_, [this](const Received& kept) { return kept.letter[0] < call_; });
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    if (kept->letter[0] != call_) continue;
    const Word word{kept->from, kept->letter[1]};
    kept_.erase(kept);
    return word;
  }
  return std::nullopt;
}

std::optional<Words::Received> Words::receive() {
  int found = 0;
  MPI_Status status;
  note(PMPI_Iprobe(MPI_ANY_SOURCE, Tags::kWords, comm_, &found, &status));
  if (found == 0 || error_ != MPI_SUCCESS) return std::nullopt;
  Received received{status.MPI_SOURCE, {}};
  note(PMPI_Recv(received.letter.data(), static_cast<int>(received.letter.size()), MPI_UINT64_T,
                 status.MPI_SOURCE, Tags::kWords, comm_, MPI_STATUS_IGNORE));
  used_ = true;
  ++received_;
  return received;
}

int Words::drain() {
  std::uint64_t expected = 0;
  note(PMPI_Reduce_scatter_block(sent_.data(), &expected, 1, MPI_UINT64_T, MPI_SUM, comm_));
  while (error_ == MPI_SUCCESS && (received_ < expected || !leaving_.empty())) {
    if (!receive()) sched_yield();
    forget_sent();
  }
  kept_.clear();
  return error_;
}

}  // namespace latecomer
