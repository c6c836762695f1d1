// Real elements for a simulation, and how many of the results are wrong.
#pragma once

#include <span>
#include <vector>

#include "schedule/program.hpp"
#include "simulate/memory.hpp"

namespace latecomer {

/// Random inputs and the operator: a sum, or where the programs must keep the order of operands
/// the composition of maps x -> a x + b.
class ResultCheck {
 public:
  ResultCheck(std::span<const Program> programs, std::uint64_t seed);

  [[nodiscard]] std::vector<Memory>& memory() { return memory_; }
  /// Elements of all ranks' outputs that differ from the reduction in rank order.
  [[nodiscard]] Count wrong() const;

 private:
  [[nodiscard]] Elements expected() const;

  Memory::Operator operator_;
  std::vector<Elements> inputs_;
  std::vector<Memory> memory_;
};

}  // namespace latecomer
