// The counters of latecomer_stats by name, for adding and reporting them.
#pragma once

#include <cstdint>
#include <span>

#include "latecomer/latecomer_mpi.h"

namespace latecomer {

struct Counter {
  const char* name = nullptr;
  std::uint64_t latecomer_stats::* member = nullptr;
  bool of_calls = true;  // false: it does not count calls
};

/// All of them, in the order of the struct.
[[nodiscard]] std::span<const Counter> counters();

/// to += other.
void add(latecomer_stats& to, const latecomer_stats& other);
/// The number of calls.
[[nodiscard]] std::uint64_t total(const latecomer_stats& stats);

}  // namespace latecomer
