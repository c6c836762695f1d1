// All that a call needs which is left to the MPI library at once, side by side: where ranks share
// cores the other rank's calls push everything out of the caches, and each line that a call touches
// costs as much as the rest of its way.
#pragma once

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "runtime/call/call.hpp"

namespace latecomer {

/// How much is found out about messages, windows and files.
enum class Messages : std::uint8_t { untouched, timed, traced };

struct alignas(64) FastPath {
  std::atomic<bool> active{false};  // calls may be handled, from MPI_Init to MPI_Finalize
  std::atomic<bool> counts{false};  // calls that are left to the MPI library are counted
  std::atomic<Messages> messages{Messages::untouched};
  bool observes = false;  // no call is handled
  bool sleeps = false;    // ranks wait asleep, where the MPI library is told so
  int min_bytes = 1024;   // shorter vectors are left to the MPI library
  std::array<MPI_Datatype, 3> common = {MPI_DOUBLE, MPI_INT, MPI_FLOAT};
  decltype(&PMPI_Type_size) type_size = PMPI_Type_size;
  NativeCalls native;
};
inline FastPath fast_path;

/// True while calls are to be handled.
[[nodiscard]] inline bool is_active() { return fast_path.active.load(std::memory_order_relaxed); }

/// After MPI_Init: finds out whether all ranks of MPI_COMM_WORLD have the library, and sets it up.
/// Returns within seconds where some have not; then rank 0, or the first rank that notices, says
/// so on stderr.
void begin_activity();

inline constexpr std::array<int, 3> kCommonSizes = {sizeof(double), sizeof(int), sizeof(float)};

/// The bytes of a vector; INT_MAX stands for more.
[[nodiscard]] inline Count bytes_of(Count count, MPI_Datatype type) {
  for (std::size_t i = 0; i < kCommonSizes.size(); ++i) {
    if (type == fast_path.common[i]) return count * kCommonSizes[i];
  }
  int size = 0;
  if (type != MPI_DATATYPE_NULL) fast_path.type_size(type, &size);
  if (size == MPI_UNDEFINED) return count > 0 ? INT_MAX : 0;  // more than an int holds
  return count * size;
}

/// True if the vector is short: then the call is left to the MPI library at once. MPI makes its
/// bytes equal on all ranks, so all of them leave it.
[[nodiscard]] inline bool is_short(Count count, MPI_Datatype type) {
  return bytes_of(count, type) < fast_path.min_bytes;
}

// Counts the calls that are the MPI library's and are not measured: those that are left to it at
// once, because they are short, and collectives that are never handled: non-blocking ones, requests
// for persistent ones (docs/decisions/0034-dropin-semantics.md), and those among neighbours.

inline std::atomic<std::uint64_t> short_vector_calls{0};

enum class Unhandled : std::uint8_t { nonblocking, persistent, neighbour };
inline std::array<std::atomic<std::uint64_t>, 3> unhandled_calls{};

inline void count_unhandled(Unhandled kind) {
  if (!fast_path.counts.load(std::memory_order_relaxed)) return;
  unhandled_calls[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace latecomer
