// The time that all ranks share where they read several clocks: rank 0's. The clocks are compared
// when MPI begins and when it ends, and not in between, so that the program is left alone.
#pragma once

#include "clocks/clock.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

class CommonTime {
 public:
  /// Compares the clocks; collective over `comm`, which has the ranks of MPI_COMM_WORLD.
  void compare(MPI_Comm comm);
  /// From this rank's time to the common one.
  [[nodiscard]] const ClockModel& model() const { return model_; }

 private:
  ClockHistory history_;  // of the lowest rank of a clock
  ClockModel model_;
};

}  // namespace latecomer
