// Tags of messages. Matching relies on the order of posting. Tags keep messages of different plans
// apart, so that none lands in a buffer that was not meant for it; only first messages, which carry
// the plan's hash, match whatever the plan.
#pragma once

#include <cstdint>

#include "transports/mpi/mpi.hpp"

namespace latecomer {

class Tags {
 public:
  // Messages outside of calls, and control messages, which name their call.
  static constexpr int kFailures = 0;  // failure_detector.hpp
  static constexpr int kClock = 1;     // clock_sync.hpp
  static constexpr int kSettings = 2;  // settings.hpp
  static constexpr int kPlans = 3;     // progress/plan_channel.hpp
  static constexpr int kControl = 4;   // control_channel.hpp
  static constexpr int kReview = 5;    // execute.cpp
  static constexpr int kMemory = 6;    // node_sharing.hpp

  explicit Tags(MPI_Comm comm) {
    if (const int* const bound = largest(comm))
      numbers_ = static_cast<std::uint64_t>(*bound) - kLast;
  }

  [[nodiscard]] int first(std::uint64_t call) const { return within(call); }
  /// The tag of the n-th message of a pair and direction.
  [[nodiscard]] int of(std::uint64_t call, std::uint64_t plan_hash, std::uint32_t n) const {
    return within(call * kStride + n + plan_hash % numbers_);
  }

 private:
  /// Open MPI 4.1 has the attribute for MPI_COMM_WORLD only, which programs with sessions lack.
  static const int* largest(MPI_Comm comm) {
    int* bound = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(comm, MPI_TAG_UB, &bound, &found);
    if (found != 0) return bound;
    int has_world = 0;
    PMPI_Initialized(&has_world);
    if (has_world != 0) PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
    return found != 0 ? bound : nullptr;
  }

  static constexpr int kLast = kMemory;
  static constexpr std::uint64_t kStride = 1021;

  [[nodiscard]] int within(std::uint64_t number) const {
    return kLast + 1 + static_cast<int>(number % numbers_);
  }

  std::uint64_t numbers_ = 32767 - kLast;  // 32767 is the least bound that MPI guarantees
};

}  // namespace latecomer
