// Tags of messages. Matching relies on the order of posting alone: tags only make a stray message
// show up instead of being taken for another call's.
#pragma once

#include <cstdint>

#include "transports/mpi/mpi.hpp"

namespace latecomer {

class Tags {
 public:
  static constexpr int kControl = 0;  // control.hpp of the runtime

  Tags() {
    int* bound = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
    if (found != 0) upper_bound_ = *bound;
  }

  /// Of the n-th message of a pair and direction in a call.
  [[nodiscard]] int of(std::uint64_t call, std::uint32_t n) const {
    return 1 + static_cast<int>((call * kStride + n) % static_cast<std::uint64_t>(upper_bound_));
  }

 private:
  static constexpr std::uint64_t kStride = 1021;
  int upper_bound_ = 32767;  // the least that MPI guarantees
};

}  // namespace latecomer
