// The ranks' buffers in a simulation, where results are to be computed and not only timed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

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

}  // namespace latecomer
