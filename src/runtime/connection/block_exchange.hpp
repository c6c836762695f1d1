// What the ranks tell each other about a block of calls: they go on meanwhile.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "telemetry/call_series.hpp"
#include "transports/mpi/backoff.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

class BlockExchange {
 public:
  BlockExchange() = default;
  /// Waits some seconds for ranks that have not begun yet. If they do not, the memory stays, since
  /// MPI may write to it.
  ~BlockExchange();
  BlockExchange(const BlockExchange&) = delete;
  BlockExchange& operator=(const BlockExchange&) = delete;

  /// Tells the other ranks. All ranks begin their exchanges on the communicator in the same order.
  /// Returns MPI's code.
  [[nodiscard]] int begin(MPI_Comm comm, const LastCalls& mine, Rank me, Rank ranks);
  [[nodiscard]] bool begun() const { return all_ != nullptr; }
  /// Returns true once all ranks have told, or MPI failed.
  [[nodiscard]] bool ended();
  [[nodiscard]] int code() const { return code_; }
  /// What they have told, by rank; after it has ended. Another exchange may begin.
  [[nodiscard]] std::vector<LastCalls> take();

 private:
  std::unique_ptr<std::vector<LastCalls>> all_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  int code_ = MPI_SUCCESS;
};

inline BlockExchange::~BlockExchange() {
  constexpr Seconds kAtMost = 10;
  if (!begun() || wait_until([this] { return ended(); }, kAtMost)) return;
  (void)all_.release();
}

inline int BlockExchange::begin(MPI_Comm comm, const LastCalls& mine, Rank me, Rank ranks) {
  all_ = std::make_unique<std::vector<LastCalls>>(static_cast<std::size_t>(ranks));
  (*all_)[static_cast<std::size_t>(me)] = mine;
  const int bytes = sizeof(LastCalls);
  code_ =
      PMPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, all_->data(), bytes, MPI_BYTE, comm, &request_);
  return code_;
}

inline bool BlockExchange::ended() {
  if (code_ != MPI_SUCCESS || request_ == MPI_REQUEST_NULL) return true;
  int done = 0;
  code_ = PMPI_Test(&request_, &done, MPI_STATUS_IGNORE);
  return done != 0 || code_ != MPI_SUCCESS;
}

inline std::vector<LastCalls> BlockExchange::take() {
  return std::move(*std::exchange(all_, nullptr));
}

}  // namespace latecomer
