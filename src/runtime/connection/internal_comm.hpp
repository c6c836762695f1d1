// An MPI communicator of latecomer's own beside the user's: the same ranks, another context. It
// returns errors.
#pragma once

#include <atomic>
#include <memory>

#include "transports/mpi/mpi.hpp"

namespace latecomer {

class InternalComm {
 public:
  /// Makes one; collective over `user`. Returns MPI's code and calls no error handler; `made` is
  /// null unless the code is MPI_SUCCESS.
  static int make(MPI_Comm user, std::unique_ptr<InternalComm>& made);
  ~InternalComm();
  InternalComm(const InternalComm&) = delete;
  InternalComm& operator=(const InternalComm&) = delete;

  [[nodiscard]] MPI_Comm get() const { return comm_; }
  /// The number of these in the process, kept ones included.
  [[nodiscard]] static int living() { return living_; }
  /// Keeps the communicator unfreed: messages that no rank will receive may be under way, so its
  /// context must not be used again.
  void keep() { keep_ = true; }

 private:
  explicit InternalComm(MPI_Comm comm) : comm_(comm) { ++living_; }

  static inline std::atomic<int> living_{0};

  MPI_Comm comm_;
  bool keep_ = false;
};

}  // namespace latecomer
