// Counts the calls that are the MPI library's and are not measured: those that are left to it at
// once, because they are short, and collectives that are never handled: non-blocking ones, requests
// for persistent ones (docs/decisions/0034-dropin-semantics.md), and those among neighbours, in
// which a rank waits for some others only.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "dropin/fast_path.hpp"

namespace latecomer {

inline std::atomic<std::uint64_t> short_vector_calls{0};

enum class Unhandled : std::uint8_t { nonblocking, persistent, neighbour };
inline std::array<std::atomic<std::uint64_t>, 3> unhandled_calls{};

inline void count_unhandled(Unhandled kind) {
  if (!fast_path.counts.load(std::memory_order_relaxed)) return;
  unhandled_calls[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace latecomer
