// What the ranks tell each other about a block of calls: they go on meanwhile.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "telemetry/call_series.hpp"
#include "transports/mpi/backoff.hpp"
#include "transports/mpi/mpi.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {

class BlockExchange {
 public:
  BlockExchange() = default;
  /// If it has not ended the memory stays, since MPI may write to it.
  ~BlockExchange() {
    if (begun() && !ended()) (void)all_.release();
  }
  BlockExchange(const BlockExchange&) = delete;
  BlockExchange& operator=(const BlockExchange&) = delete;

  /// Tells the other ranks of the program's communicator, on which all begin their non-blocking
  /// collectives in the same order. Returns MPI's code.
  [[nodiscard]] int begin(MPI_Comm comm, const LastCalls& mine, Rank me, Rank ranks);
  [[nodiscard]] bool begun() const { return all_ != nullptr; }
  /// Returns true once all ranks have told, or MPI failed.
  [[nodiscard]] bool ended();
  /// Waits for that, at most so long.
  void wait(Seconds at_most) {
    if (begun()) (void)wait_until([this] { return ended(); }, std::max(0.0, at_most));
  }
  [[nodiscard]] int code() const { return code_; }
  /// What they have told, by rank; after it has ended. Another exchange may begin.
  [[nodiscard]] std::vector<LastCalls> take() { return std::move(*std::exchange(all_, nullptr)); }

 private:
  std::unique_ptr<std::vector<LastCalls>> all_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  int code_ = MPI_SUCCESS;
};

inline int BlockExchange::begin(MPI_Comm comm, const LastCalls& mine, Rank me, Rank ranks) {
  all_ = std::make_unique<std::vector<LastCalls>>(static_cast<std::size_t>(ranks));
  (*all_)[static_cast<std::size_t>(me)] = mine;
  const int bytes = sizeof(LastCalls);
  code_ = UserCode::run([&] {
    return PMPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, all_->data(), bytes, MPI_BYTE, comm,
                           &request_);
  });
  return code_;
}

inline bool BlockExchange::ended() {
  if (code_ != MPI_SUCCESS || request_ == MPI_REQUEST_NULL) return true;
  int done = 0;
  code_ = UserCode::run([&] { return PMPI_Test(&request_, &done, MPI_STATUS_IGNORE); });
  return done != 0 || code_ != MPI_SUCCESS;
}

}  // namespace latecomer
