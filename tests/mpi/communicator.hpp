// A communicator that a test may change, freed with the object; and what was counted on one.
#pragma once

#include <utility>

#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "transports/mpi/link.hpp"

namespace latecomer::testing {

class Communicator {
 public:
  explicit Communicator(MPI_Comm parent = MPI_COMM_WORLD) { MPI_Comm_dup(parent, &comm_); }
  static Communicator returning_errors() {
    Communicator made;
    MPI_Comm_set_errhandler(made.comm_, MPI_ERRORS_RETURN);
    return made;
  }
  ~Communicator() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  Communicator(Communicator&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  operator MPI_Comm() const { return comm_; }  // NOLINT(google-explicit-constructor)
  operator Link() const { return comm_; }      // NOLINT(google-explicit-constructor)

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

inline latecomer_stats stats_of(MPI_Comm comm) {
  latecomer_stats stats{};
  CHECK_EQ(latecomer_get_stats(comm, &stats), MPI_SUCCESS);
  return stats;
}

}  // namespace latecomer::testing
