// The words that ranks of an arrival broadcast send each other, and the steps that events lead to.
#pragma once

#include <algorithm>
#include <vector>

#include "base/types.hpp"

namespace latecomer::bcast {

enum class Said : std::uint8_t {
  here,  // to the root: I have arrived
  next,  // from the root: feed `rank`, from `segment` on
  feed,  // I feed you from `segment` on; the root sends the segments before it
  last,  // from the root: no rank follows you
  soon,  // from the root: I send you the segments before `segment`, also while you are absent
};

struct Word {
  Said said = Said::here;
  Rank rank = -1;
  Count segment = 0;

  bool operator==(const Word&) const = default;
};

/// One segment from one rank to another. `first`: the first of this pair and direction.
struct Transfer {
  Rank peer = -1;
  Count segment = 0;
  bool first = false;
};

/// The actions that are due now.
struct Step {
  struct Telling {
    Rank to = -1;
    Word word;
  };
  std::vector<Telling> tell;  // first, in this order
  std::vector<Transfer> send;
  std::vector<Transfer> receive;
};

/// The most segments of a feed that are under way, and receives that wait for one. More would delay
/// words, and segments that become more urgent.
inline constexpr Count kInFlight = 2;

/// Segments that the root announces at a time to an absent rank. Some MPI libraries accept only so
/// many messages that no rank receives yet (libfabric's tcp 64 from a sender), and no words behind
/// them.
inline constexpr Count kAnnounced = 16;

/// One rank's task of sending the vector to another, from a segment on, as it receives the
/// segments.
struct Feed {
  Rank to = -1;
  Count begin = 0;
  Count end = 0;
  Count posted = 0;  // all segments before it are on their way
  Count sent = 0;    // segments up to this number have left

  Feed(Rank receiver, Count from, Count segments)
      : to(receiver), begin(from), end(segments), posted(from), sent(from) {}
  [[nodiscard]] Count leaving() const { return posted - sent; }
  [[nodiscard]] bool over() const { return sent == end; }
  /// Sends segments that are here. `have`: their number, from the first one on.
  void post(Count have, Step& step) {
    while (posted < std::min(have, end) && leaving() < kInFlight) post_next(step);
  }
  void post_all(Count have, Step& step) {
    while (posted < have) post_next(step);
  }

 private:
  void post_next(Step& step) {
    step.send.push_back({to, posted, posted == begin});
    ++posted;
  }
};

}  // namespace latecomer::bcast
