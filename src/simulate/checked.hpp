// Checks the elements that a simulated call left: random inputs, and the slow obvious result to
// compare with.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/engine.hpp"
#include "schedule/problem.hpp"
#include "simulate/memory.hpp"

namespace latecomer {

/// Random inputs for the ranks of one call, and an operator that distinguishes results: the sum
/// modulo 2^64 or, if rank order must be kept, the composition of maps x -> a x + b.
class CheckedMemory {
 public:
  CheckedMemory(const Problem& problem, const Executors& executors, std::uint64_t seed);
  CheckedMemory(const Problem& problem, std::span<const Program> programs, std::uint64_t seed)
      : CheckedMemory(problem, executors_of(programs), seed) {}

  /// The memory for SimulationOptions; lives as long as this object.
  [[nodiscard]] std::vector<Memory>* memory() { return &memories_; }
  /// The number of elements that differ from the collective's postcondition, over all ranks.
  /// Reductions are compared with the one from left to right.
  [[nodiscard]] Count wrong() const;

 private:
  [[nodiscard]] Element right(std::optional<Rank> contributor, Count element) const;

  Problem problem_;
  Memory::Operator operator_;
  std::vector<Elements> inputs_;  // of problem_.before(rank)
  std::vector<Memory> memories_;
};

}  // namespace latecomer
