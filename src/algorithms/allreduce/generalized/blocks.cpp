#include "algorithms/allreduce/generalized/blocks.hpp"

#include <algorithm>

namespace latecomer::allreduce {
namespace {

Count length(const Slice& slice, Count offset, Count piece) {
  return piece == 0 ? slice.count - offset : std::min(piece, slice.count - offset);
}

}  // namespace

Slices joined(const Slices& slices) {
  Slices runs;
  for (const Slice& slice : slices) {
    if (slice.empty()) continue;
    const bool follows =
        !runs.empty() && runs.back().buffer == slice.buffer && runs.back().end() == slice.begin;
    if (follows) {
      runs.back().count += slice.count;
    } else {
      runs.push_back(slice);
    }
  }
  return runs;
}

Count count_of(const Slices& slices) {
  Count count = 0;
  for (const Slice& slice : slices) count += slice.count;
  return count;
}

Slice Spare::take(Builder& builder, Count count) {
  if (room_.empty()) room_ = builder.scratch(most_);
  return room_.part(0, count);
}

Slice Rooms::take(Builder& builder, Count count) {
  const auto fits = std::find_if(free_.begin(), free_.end(),
                                 [&](const Slice& room) { return room.count >= count; });
  if (fits == free_.end()) return builder.scratch(count);
  const Slice room = fits->part(0, count);
  free_.erase(fits);
  return room;
}

void send_block(Builder& builder, Rank to, const Slices& slices, Count piece, Spare& spare) {
  const Slices runs = joined(slices);
  if (runs.empty()) return;
  Slice whole = runs.front();
  if (runs.size() > 1) {
    whole = spare.take(builder, count_of(runs));
    Count at = 0;
    for (const Slice& run : runs) {
      builder.copy(run, whole.part(at, run.count));
      at += run.count;
    }
  }
  for (Count at = 0; at < whole.count; at += length(whole, at, piece)) {
    builder.send(to, whole.part(at, length(whole, at, piece)));
  }
}

void recv_pieces(Builder& builder, Rank from, const Slice& target, Count piece) {
  for (Count at = 0; at < target.count; at += length(target, at, piece)) {
    builder.recv(from, target.part(at, length(target, at, piece)));
  }
}

void recv_block(Builder& builder, Rank from, const Slices& slices, Count piece) {
  const Slices runs = joined(slices);
  if (runs.empty()) return;
  if (runs.size() == 1) return recv_pieces(builder, from, runs.front(), piece);
  const Slice whole = builder.scratch(count_of(runs));
  recv_pieces(builder, from, whole, piece);
  Count at = 0;
  for (const Slice& run : runs) {
    builder.copy(whole.part(at, run.count), run);
    at += run.count;
  }
}

Count Layout::count() const {
  Count count = 0;
  for (const Range& range : ranges_) count += range.count;
  return count;
}

std::vector<Range> Layout::part(Range range) const {
  std::vector<Range> found;
  Count before = 0;
  for (const Range& piece : ranges_) {
    const Count begin = std::max(range.begin, before);
    const Count end = std::min(range.end(), before + piece.count);
    if (begin < end) found.push_back({piece.begin + begin - before, end - begin});
    before += piece.count;
  }
  return found;
}

Slices Layout::output(const Builder& builder, Range range) const {
  Slices slices;
  for (const Range& piece : part(range)) slices.push_back(builder.output(piece));
  return slices;
}

}  // namespace latecomer::allreduce
