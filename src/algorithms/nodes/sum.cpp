#include "algorithms/nodes/sum.hpp"

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

}  // namespace latecomer
