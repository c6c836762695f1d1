// Common functions of the tests of the progress thread.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "with_thread.hpp"

namespace latecomer::testing {

inline constexpr Count kMany = 1 << 15;  // numbers: announced, as the network of --thread goes

inline void sleep_for(Seconds seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

inline bool applies(const Context& context) { return with_thread() && context.ranks > 1; }

inline bool error_names(const std::string& word) {
  return std::string(latecomer_last_error()).find(word) != std::string::npos;
}

/// The first call, which waits for all ranks, is made here by one that is not announced.
inline void compare_settings_first(MPI_Comm comm) {
  int one = 1;
  int all = 0;
  CHECK_EQ(latecomer_allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
}

}  // namespace latecomer::testing
