// The elements of a simulated call: the ranks' buffers, and the check of what the call left in
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/engine.hpp"
#include "schedule/problem.hpp"
#include "schedule/program.hpp"

namespace latecomer {

/// One element. Tests choose what the bits mean through the operator.
using Element = std::uint64_t;
using Elements = std::vector<Element>;

/// All buffers of one rank; they start with elements that no test uses.
class Memory {
 public:
  using Operator = std::function<Element(Element left, Element right)>;

  /// The buffers begin without data.
  Memory(const RankContext& context, Operator combine);
  /// From now on this rank and `mate` have one node's buffer.
  void share_node(const Memory& mate) { node_ = mate.node_; }

  [[nodiscard]] Elements read(const Slice& slice) const;
  void write(const Slice& slice, std::span<const Element> data);
  /// Combines as MPI_Reduce_local does: inout = in op inout, so the operand that is written stands
  /// on the right.
  void combine(const Slice& left, const Slice& right, Into into);
  [[nodiscard]] const Elements& output() const { return buffer(Buffer::output); }
  [[nodiscard]] const Elements& input() const { return buffer(Buffer::input); }

 private:
  [[nodiscard]] const Elements& buffer(Buffer which) const {
    return which == Buffer::node ? *node_ : buffers_[static_cast<int>(which)];
  }

  Elements buffers_[kBuffers - 1];  // but for the node's
  std::shared_ptr<Elements> node_;
  Operator operator_;
};

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
  [[nodiscard]] Elements combined() const;

  Problem problem_;
  Memory::Operator operator_;
  std::vector<Elements> inputs_;  // of problem_.before(rank)
  std::vector<Memory> memories_;
};

}  // namespace latecomer
