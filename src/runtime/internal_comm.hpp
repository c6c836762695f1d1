// A communicator of our own beside the user's: the same ranks, another context. It returns errors.
#pragma once

#include <memory>

#include "transports/mpi/mpi.hpp"

namespace latecomer {

class InternalComm {
 public:
  /// Collective over `user`. Returns MPI's code; null in `made` unless it is MPI_SUCCESS.
  static int make(MPI_Comm user, std::unique_ptr<InternalComm>& made);
  ~InternalComm();
  InternalComm(const InternalComm&) = delete;
  InternalComm& operator=(const InternalComm&) = delete;

  [[nodiscard]] MPI_Comm get() const { return comm_; }
  /// Messages that nobody will receive may be under way: its context must not be used again.
  void keep() { keep_ = true; }

 private:
  explicit InternalComm(MPI_Comm comm) : comm_(comm) {}

  MPI_Comm comm_;
  bool keep_ = false;
};

}  // namespace latecomer
