// While one of these lives, errors of MPI functions that take no communicator, or a wrong one, are
// returned: MPI libraries raise them on MPI_COMM_WORLD or on MPI_COMM_SELF.
#pragma once

#include <array>

#include "transports/mpi/mpi.hpp"

namespace latecomer::testing {

class ReturnedErrorsEverywhere {
 public:
  ReturnedErrorsEverywhere() {
    for (std::size_t i = 0; i < before_.size(); ++i) {
      MPI_Comm_get_errhandler(comm(i), &before_[i]);
      MPI_Comm_set_errhandler(comm(i), MPI_ERRORS_RETURN);
    }
  }
  ~ReturnedErrorsEverywhere() {
    for (std::size_t i = 0; i < before_.size(); ++i) {
      MPI_Comm_set_errhandler(comm(i), before_[i]);
      MPI_Errhandler_free(&before_[i]);
    }
  }
  ReturnedErrorsEverywhere(const ReturnedErrorsEverywhere&) = delete;
  ReturnedErrorsEverywhere& operator=(const ReturnedErrorsEverywhere&) = delete;

 private:
  static MPI_Comm comm(std::size_t i) { return i == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF; }

  std::array<MPI_Errhandler, 2> before_{};
};

}  // namespace latecomer::testing
