// Tags of messages. Matching relies on the order of posting. Tags keep messages of different plans
// apart, so that none lands in a buffer that was not meant for it; only first messages, which carry
// the plan's hash, match whatever the plan. A tag is a number below link.tags().
#pragma once

#include <cstdint>

#include "transports/mpi/link.hpp"

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

  explicit Tags(const Link& link) : numbers_(static_cast<std::uint64_t>(link.tags() - 1 - kLast)) {}

  [[nodiscard]] int first(std::uint64_t call) const { return within(call); }
  /// The tag of the n-th message of a pair and direction.
  [[nodiscard]] int of(std::uint64_t call, std::uint64_t plan_hash, std::uint32_t n) const {
    return within(call * kStride + n + plan_hash % numbers_);
  }

 private:
  static constexpr int kLast = kMemory;
  static constexpr std::uint64_t kStride = 1021;

  [[nodiscard]] int within(std::uint64_t number) const {
    return kLast + 1 + static_cast<int>(number % numbers_);
  }

  std::uint64_t numbers_;
};

}  // namespace latecomer
