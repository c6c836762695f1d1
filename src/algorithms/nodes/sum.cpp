#include "algorithms/nodes/sum.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/threads.hpp"

namespace latecomer {

Sum::Sum(const Wave& wave, const NodeRank& rank, Builder& builder)
    : wave_(wave), rank_(rank), builder_(builder) {
  for (Count i = 0; i < wave.pieces * wave.slices; ++i) flags_.push_back(builder.flag());
  if (!cells()) return;
  for (Count i = 0; i < wave.pieces * rank_.size(); ++i) filled_.push_back(builder.flag());
}

void Sum::add(Count piece, bool tells) {
  if (cells()) {
    const Slice cell = wave_.cell(wave_.piece(piece), rank_.place(), rank_.size());
    builder_.copy(builder_.input(wave_.vector(piece)), cell);
    builder_.signal(cell, filled(piece, rank_.place()));
    if (tells) builder_.piggyback_last();
    return;
  }
  for (Count i = 0; i < wave_.slices; ++i) {
    const Count slice = (rank_.place() + i) % wave_.slices;
    const Slice to = wave_.slice(piece, slice);
    builder_.accumulate(builder_.input(wave_.vector(to)), to, flag(piece, slice));
    if (tells && slice == 0) builder_.piggyback_last();
  }
}

void Sum::add() {
  for (Count piece = 0; piece < wave_.pieces; ++piece) add(piece, false);
}

bool Sum::combines(Count slice) const {
  const Rank driver = rank_.nodes().place(rank_.driver(wave_.lane));
  return (driver + slice) % rank_.size() == rank_.place();
}

void Sum::combine(Count piece, bool tells) {
  if (!cells()) return;
  for (Count number = 0; number < wave_.slices; ++number) {
    if (!combines(number)) continue;
    const Slice slice = wave_.slice(piece, number);
    for (Rank place = 0; place < rank_.size(); ++place) {
      if (place == rank_.place()) continue;
      builder_.await(wave_.cell(slice, place, rank_.size()), filled(piece, place), 1);
      if (!tells || number > 0) continue;
      builder_.piggyback_last();
      told_.push_back(builder_.last());
    }
    combine_cells(slice, 0, rank_.size());
    if (rank_.drives(wave_.lane)) continue;  // no other rank awaits it
    builder_.signal(slice, flag(piece, number));
    if (tells && number == 0) builder_.piggyback_last();
  }
}

void Sum::combine() {
  for (Count piece = 0; piece < wave_.pieces; ++piece) combine(piece, false);
}

/// Combines the cells of the ranks from `first` on, before `end`, into the last of them. As a tree:
/// after a late rank few operations are left.
void Sum::combine_cells(const Slice& slice, Rank first, Rank end) {
  if (end - first < 2) return;
  const Rank middle = first + (end - first) / 2;
  combine_cells(slice, first, middle);
  combine_cells(slice, middle, end);
  builder_.combine(wave_.cell(slice, middle - 1, rank_.size()),
                   wave_.cell(slice, end - 1, rank_.size()), Into::right);
}

std::vector<OpIndex> Sum::await(Count piece, bool tells) const {
  std::vector<OpIndex> known = tells ? told_ : std::vector<OpIndex>{};
  for (Count slice = 0; slice < wave_.slices; ++slice) {
    if (cells() && combines(slice)) continue;
    builder_.await(wave_.slice(piece, slice), flag(piece, slice), cells() ? 1 : rank_.size());
    if (!tells || slice > 0) continue;
    builder_.piggyback_last();
    known = {builder_.last()};
  }
  return known;
}

void Sum::await() const {
  for (Count piece = 0; piece < wave_.pieces; ++piece) await(piece, false);
}

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
