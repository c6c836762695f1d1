// Whether a simulated call left the right elements everywhere: random inputs, and the slow obvious
// result to compare with.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/program_party.hpp"
#include "schedule/problem.hpp"
#include "simulate/memory.hpp"

namespace latecomer {

/// Random inputs for the ranks of one call, and an operator that tells results apart: the sum
/// modulo 2^64, or where rank order is to be kept, the composition of maps x -> a x + b.
class CheckedMemory {
 public:
  CheckedMemory(const Problem& problem, const Parties& parties, std::uint64_t seed);
  CheckedMemory(const Problem& problem, std::span<const Program> programs, std::uint64_t seed)
      : CheckedMemory(problem, parties_of(programs), seed) {}

  /// For SimulationOptions; lives as long as this.
  [[nodiscard]] std::vector<Memory>* memory() { return &memories_; }
  /// Elements, of all that ranks are to have, that are not what the collective promises: of one
  /// that combines, the left to right reduction.
  [[nodiscard]] Count wrong() const;

 private:
  [[nodiscard]] Element right(std::optional<Rank> contributor, Count element) const;

  Problem problem_;
  Memory::Operator operator_;
  std::vector<Elements> inputs_;  // of problem_.before(rank)
  std::vector<Memory> memories_;
};

}  // namespace latecomer
