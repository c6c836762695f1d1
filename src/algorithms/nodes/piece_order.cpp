#include "algorithms/nodes/piece_order.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "algorithms/registry.hpp"
#include "base/threads.hpp"

namespace latecomer {
namespace {

std::vector<Count> sorted_by(const std::vector<OpIndex>& operations) {
  std::vector<Count> pieces(operations.size());
  std::iota(pieces.begin(), pieces.end(), 0);
  std::ranges::stable_sort(
      pieces, {}, [&](Count piece) { return operations[static_cast<std::size_t>(piece)]; });
  return pieces;
}

/// Reads the orders off the program, whose operations begin and end about as they are listed.
PieceOrder order_in(const Program& program, Count pieces) {
  const Partition parts(program.output_count, pieces);
  const auto never = static_cast<OpIndex>(program.operations.size());
  std::vector<OpIndex> first(static_cast<std::size_t>(pieces), never);
  std::vector<OpIndex> last(static_cast<std::size_t>(pieces), 0);
  for (OpIndex i = 0; i < never; ++i) {
    const auto note = [&](const Slice& slice, bool writes) {
      if (slice.empty() || slice.buffer == Buffer::scratch) return;
      const Count end = parts.part_of(slice.end() - 1);
      for (Count piece = parts.part_of(slice.begin); piece <= end; ++piece) {
        OpIndex& earliest = first[static_cast<std::size_t>(piece)];
        earliest = std::min(earliest, i);
        if (writes) last[static_cast<std::size_t>(piece)] = i;
      }
    };
    const Accesses touched = accesses(program.operations[i]);
    for (const Slice& read : touched.reads) note(read, false);
    note(touched.write, true);
  }
  return {sorted_by(first), sorted_by(last)};
}

struct Asked {
  std::uint64_t plan = 0;
  Rank node = 0;
  Count pieces = 1;
  bool operator==(const Asked&) const = default;
};

}  // namespace

/// The last orders found on this thread are kept, for the other ranks of a node and other lanes.
std::shared_ptr<const PieceOrder> piece_order(const Plan& inner, Rank node, const Wave& wave) {
  return PerThread<Asked, Kept<Asked, PieceOrder>>::get().get(
      {hash(inner), node, wave.pieces},
      [&](const Asked& asked) { return order_in(build_program(inner, asked.node), asked.pieces); });
}

}  // namespace latecomer
