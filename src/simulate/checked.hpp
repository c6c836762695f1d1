// Whether a simulated all-reduce left the right elements everywhere: random inputs, and the slow
// obvious result to compare with.
#pragma once

#include <span>
#include <vector>

#include "simulate/memory.hpp"

namespace latecomer {

/// Random inputs for the ranks of one all-reduce, and an operator that tells results apart: the sum
/// modulo 2^64, or where the programs keep rank order, the composition of maps x -> a x + b.
class CheckedMemory {
 public:
  CheckedMemory(std::span<const Program> programs, std::uint64_t seed);

  /// For SimulationOptions; lives as long as this.
  [[nodiscard]] std::vector<Memory>* memory() { return &memories_; }
  /// Elements, of all ranks' outputs, that differ from the left to right reduction.
  [[nodiscard]] Count wrong() const;

 private:
  Elements expected_;
  std::vector<Memory> memories_;
};

}  // namespace latecomer
