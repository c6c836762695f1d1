// Counts the collectives that are always the MPI library's and are not measured: non-blocking
// ones, requests for persistent ones (docs/decisions/0034-dropin-semantics.md), and those among
// neighbours, in which a rank waits for some others only.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "dropin/hot.hpp"

namespace latecomer {

enum class Passed : std::uint8_t { nonblocking, persistent, neighbour };
inline std::array<std::atomic<std::uint64_t>, 3> passed_calls{};

inline void count_passed(Passed kind) {
  if (!hot.counts.load(std::memory_order_relaxed)) return;
  passed_calls[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace latecomer
