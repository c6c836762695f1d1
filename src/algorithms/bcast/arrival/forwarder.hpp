// A rank of an arrival broadcast that is not the root: it tells the root that it has arrived,
// receives the segments from the rank that feeds it, and forwards each at once to the rank that the
// root names.
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

  /// The rank that tells the others who sends.
  [[nodiscard]] Rank root() const { return root_; }
  /// True if it has all segments, and has forwarded them if it had to.
  [[nodiscard]] bool done() const;
  /// The number of segments that are here, from the first one on, and of those that are not.
  [[nodiscard]] Count have() const { return have_; }
  [[nodiscard]] Count missing() const { return segments_ - have_; }
  /// The rank that sends a segment; -1: not known yet.
  [[nodiscard]] Rank source(Count segment) const {
    return segment < std::max(rest_, soon_) ? root_ : feeder_;
  }
  /// True if it is the first segment that its source sends.
  [[nodiscard]] bool is_first(Count segment) const { return segment == 0 || segment == rest_; }
  /// The rank that it feeds; -1: none yet.
  [[nodiscard]] Rank feeds() const { return next_ ? next_->to : -1; }
  /// All numbers on which its future steps depend.
  [[nodiscard]] std::vector<Count> state() const;

 private:
  void go_on(Step& step);

  Rank root_;
  Count segments_;
  bool arrived_ = false;
  bool last_ = false;  // no rank follows
  Rank feeder_ = -1;
  Count rest_ = 0;          // the first segment that the feeder sends
  Count soon_ = 0;          // the root sends those before it
  Count posted_ = 0;        // receives are posted for all segments before it
  std::vector<bool> here_;  // by segment: two of them may overtake each other
  Count have_ = 0;
  std::optional<Feed> next_;
};

}  // namespace latecomer::bcast
