// A rank of an arrival broadcast that is not the root: it says that it is there, takes the segments
// from whoever feeds it, and hands them on to the rank it is told to, as they come.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "algorithms/bcast/arrival/feed.hpp"

namespace latecomer::bcast {

class Forwarder {
 public:
  Forwarder(Rank root, Count segments)
      : root_(root), segments_(segments), here_(static_cast<std::size_t>(segments)) {}

  Step arrive();
  Step hear(Rank from, Word word);
  Step sent(Rank to);
  Step received(Count segment);

  /// It has all, and has handed it on if it had to.
  [[nodiscard]] bool done() const;
  /// Segments that are here, from the first one on, and those that are not.
  [[nodiscard]] Count have() const { return have_; }
  [[nodiscard]] Count missing() const { return segments_ - have_; }
  /// Who sends a segment; -1: it was not told yet.
  [[nodiscard]] Rank source(Count segment) const {
    return segment < std::max(rest_, soon_) ? root_ : feeder_;
  }
  /// Whether it is the first one that its source sends.
  [[nodiscard]] bool is_first(Count segment) const { return segment == 0 || segment == rest_; }
  /// Whom it feeds; -1: nobody yet.
  [[nodiscard]] Rank feeds() const { return next_ ? next_->to : -1; }
  /// All that its future depends on.
  [[nodiscard]] std::vector<Count> state() const;

 private:
  void go_on(Step& step);

  Rank root_;
  Count segments_;
  bool arrived_ = false;
  bool last_ = false;  // nobody follows
  Rank feeder_ = -1;
  Count rest_ = 0;          // the first segment that the feeder sends
  Count soon_ = 0;          // the root sends those before it
  Count posted_ = 0;        // receives, of all segments before it
  std::vector<bool> here_;  // by segment: two of them may overtake each other
  Count have_ = 0;
  std::optional<Feed> next_;
};

}  // namespace latecomer::bcast
