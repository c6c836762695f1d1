// A communicator of our own beside the user's: the same ranks, another context. It returns errors.
#pragma once

#include <atomic>
#include <memory>

#include "transports/mpi/mpi.hpp"

namespace latecomer {

class InternalComm {
 public:
  /// Collective over `user`. Returns MPI's code and calls nobody's error handler; null in `made`
  /// unless it is MPI_SUCCESS.
  static int make(MPI_Comm user, std::unique_ptr<InternalComm>& made);
  ~InternalComm();
  InternalComm(const InternalComm&) = delete;
  InternalComm& operator=(const InternalComm&) = delete;

  [[nodiscard]] MPI_Comm get() const { return comm_; }
  /// How many there are in this process, kept ones included.
  [[nodiscard]] static int living() { return living_; }
  /// Messages that nobody will receive may be under way: its context must not be used again.
  void keep() { keep_ = true; }

 private:
  explicit InternalComm(MPI_Comm comm) : comm_(comm) { ++living_; }

  static inline std::atomic<int> living_{0};

  MPI_Comm comm_;
  bool keep_ = false;
};

}  // namespace latecomer
