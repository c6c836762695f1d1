// Parts of a vector that lie in several places and travel as one message.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "schedule/builder.hpp"

namespace latecomer::allreduce {

/// Slices in the order in which a message holds their elements.
using Slices = std::vector<Slice>;

/// The slices with neighbours joined and without empty ones.
[[nodiscard]] inline Slices joined(const Slices& slices) {
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

[[nodiscard]] inline Count count_of(const Slices& slices) {
  Count count = 0;
  for (const Slice& slice : slices) count += slice.count;
  return count;
}

/// Scratch for one message whose parts do not lie together, used again for the next one.
class Spare {
 public:
  /// For messages of at most `most` elements.
  explicit Spare(Count most) : most_(most) {}
  Slice take(Builder& builder, Count count) {
    if (room_.empty()) room_ = builder.scratch(most_);
    return room_.part(0, count);
  }

 private:
  Count most_;
  Slice room_;
};

/// Stretches of scratch that can be used again. The next writer of one waits for sends that still
/// read it.
class Rooms {
 public:
  Slice take(Builder& builder, Count count) {
    const auto fits = std::find_if(free_.begin(), free_.end(),
                                   [&](const Slice& room) { return room.count >= count; });
    if (fits == free_.end()) return builder.scratch(count);
    const Slice room = fits->part(0, count);
    free_.erase(fits);
    return room;
  }
  void give(const Slice& room) {
    if (room.buffer == Buffer::scratch && !room.empty()) free_.push_back(room);
  }

 private:
  std::vector<Slice> free_;
};

/// The number of elements of a slice from `offset` on, at most `piece` (0: no limit).
[[nodiscard]] inline Count piece_of(const Slice& slice, Count offset, Count piece) {
  return piece == 0 ? slice.count - offset : std::min(piece, slice.count - offset);
}

/// Sends the slices as one message, or as messages of at most `piece` elements (0: no limit).
/// Slices that do not lie together are copied together first.
inline void send_block(Builder& builder, Rank to, const Slices& slices, Count piece, Spare& spare) {
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
  for (Count at = 0; at < whole.count; at += piece_of(whole, at, piece)) {
    builder.send(to, whole.part(at, piece_of(whole, at, piece)));
  }
}

/// Receives into one slice.
inline void recv_pieces(Builder& builder, Rank from, const Slice& target, Count piece) {
  for (Count at = 0; at < target.count; at += piece_of(target, at, piece)) {
    builder.recv(from, target.part(at, piece_of(target, at, piece)));
  }
}

/// Receives the messages of send_block into the slices.
inline void recv_block(Builder& builder, Rank from, const Slices& slices, Count piece) {
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

/// The places of parts of the result in the output: ranges, in the order of the parts.
class Layout {
 public:
  explicit Layout(std::vector<Range> ranges) : ranges_(std::move(ranges)) {}

  [[nodiscard]] Count count() const {
    Count count = 0;
    for (const Range& range : ranges_) count += range.count;
    return count;
  }
  /// The elements [range] of the whole.
  [[nodiscard]] std::vector<Range> part(Range range) const {
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
  [[nodiscard]] Slices output(const Builder& builder, Range range) const {
    Slices slices;
    for (const Range& piece : part(range)) slices.push_back(builder.output(piece));
    return slices;
  }

 private:
  std::vector<Range> ranges_;
};

}  // namespace latecomer::allreduce
