// While one of these lives, errors of MPI functions that take no communicator, or a wrong one, are
// returned: MPI libraries raise them on MPI_COMM_WORLD or on MPI_COMM_SELF. Programs with MPI
// sessions only have neither, and nothing is done there.
#pragma once

#include <array>

#include "transports/mpi/mpi.hpp"

namespace latecomer {

class ReturnedErrorsEverywhere {
 public:
  ReturnedErrorsEverywhere() {
    int begun = 0;
    PMPI_Initialized(&begun);
    for (std::size_t i = 0; i < before_.size() && begun != 0; ++i) {
      PMPI_Comm_get_errhandler(comm(i), &before_[i]);
      PMPI_Comm_set_errhandler(comm(i), MPI_ERRORS_RETURN);
    }
  }
  ~ReturnedErrorsEverywhere() {
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (before_[i] == MPI_ERRHANDLER_NULL) continue;
      PMPI_Comm_set_errhandler(comm(i), before_[i]);
      PMPI_Errhandler_free(&before_[i]);
    }
  }
  ReturnedErrorsEverywhere(const ReturnedErrorsEverywhere&) = delete;
  ReturnedErrorsEverywhere& operator=(const ReturnedErrorsEverywhere&) = delete;

 private:
  static MPI_Comm comm(std::size_t i) { return i == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF; }

  std::array<MPI_Errhandler, 2> before_ = {MPI_ERRHANDLER_NULL, MPI_ERRHANDLER_NULL};
};

}  // namespace latecomer
