// A communicator of our own beside the user's: the same ranks, another context. It returns errors.
#pragma once

#include "transports/mpi/mpi.hpp"

namespace latecomer {

class InternalComm {
 public:
  /// Collective over `user`. Check get() for MPI_COMM_NULL: then code() says why.
  explicit InternalComm(MPI_Comm user);
  ~InternalComm();
  InternalComm(const InternalComm&) = delete;
  InternalComm& operator=(const InternalComm&) = delete;

  [[nodiscard]] MPI_Comm get() const { return comm_; }
  [[nodiscard]] int code() const { return code_; }
  /// Messages that nobody will receive may be under way: its context must not be used again.
  void keep() { keep_ = true; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int code_ = MPI_SUCCESS;
  bool keep_ = false;
};

}  // namespace latecomer
