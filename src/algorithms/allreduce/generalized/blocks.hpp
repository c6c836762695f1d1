// Parts of a vector that lie in several places and travel as one message.
#pragma once

#include <vector>

#include "schedule/builder.hpp"

namespace latecomer::allreduce {

/// Slices in the order in which a message holds their elements.
using Slices = std::vector<Slice>;

/// The slices with neighbours joined and without empty ones.
[[nodiscard]] Slices joined(const Slices& slices);
[[nodiscard]] Count count_of(const Slices& slices);

/// Scratch for one message whose parts do not lie together, used again for the next one.
class Spare {
 public:
  /// For messages of at most `most` elements.
  explicit Spare(Count most) : most_(most) {}
  Slice take(Builder& builder, Count count);

 private:
  Count most_;
  Slice room_;
};

/// Stretches of scratch that can be used again. The next writer of one waits for sends that still
/// read it.
class Rooms {
 public:
  Slice take(Builder& builder, Count count);
  void give(const Slice& room) {
    if (room.buffer == Buffer::scratch && !room.empty()) free_.push_back(room);
  }

 private:
  std::vector<Slice> free_;
};

/// Sends the slices as one message, or as messages of at most `piece` elements (0: no limit).
/// Slices that do not lie together are copied together first.
void send_block(Builder& builder, Rank to, const Slices& slices, Count piece, Spare& spare);
/// Receives the messages of send_block into the slices.
void recv_block(Builder& builder, Rank from, const Slices& slices, Count piece);
/// Receives into one slice.
void recv_pieces(Builder& builder, Rank from, const Slice& target, Count piece);

/// The places of parts of the result in the output: ranges, in the order of the parts.
class Layout {
 public:
  explicit Layout(std::vector<Range> ranges) : ranges_(std::move(ranges)) {}

  [[nodiscard]] Count count() const;
  /// The elements [range] of the whole.
  [[nodiscard]] std::vector<Range> part(Range range) const;
  [[nodiscard]] Slices output(const Builder& builder, Range range) const;

 private:
  std::vector<Range> ranges_;
};

}  // namespace latecomer::allreduce
