// What ranks of an arrival broadcast tell each other, and what one is to do when something
// happened.
#pragma once

#include <algorithm>
#include <vector>

#include "base/types.hpp"

namespace latecomer::bcast {

enum class Said : std::uint8_t {
  here,  // to the root: I have arrived
  next,  // from the root: feed `rank`, from `segment` on
  feed,  // I feed you from `segment` on; what is before comes from the root
  last,  // from the root: nobody follows you
  soon,  // from the root: I send you what is before `segment`, also while you are absent
};

struct Word {
  Said said = Said::here;
  Rank rank = -1;
  Count segment = 0;

  bool operator==(const Word&) const = default;
};

/// One segment's way between two ranks. `first`: of this pair and direction.
struct Transfer {
  Rank peer = -1;
  Count segment = 0;
  bool first = false;
};

/// What is to be done now.
struct Step {
  struct Telling {
    Rank to = -1;
    Word word;
  };
  std::vector<Telling> tell;  // first, in this order
  std::vector<Transfer> send;
  std::vector<Transfer> receive;
};

/// Segments under way, of one feed, and receives that wait for one. More would stand in front of
/// words, and of what becomes more urgent.
inline constexpr Count kInFlight = 2;

/// Segments that the root announces at a time to a rank that is absent. Some MPI libraries take
/// only so many messages that nobody receives yet (libfabric's tcp 64 of a sender), and no words
/// behind them.
inline constexpr Count kAnnounced = 16;

/// Sending one rank the vector, from a segment on, as it comes.
struct Feed {
  Rank to = -1;
  Count begin = 0;
  Count end = 0;
  Count posted = 0;  // all before it are on their way
  Count sent = 0;    // as many as are before it have left

  Feed(Rank receiver, Count from, Count segments)
      : to(receiver), begin(from), end(segments), posted(from), sent(from) {}
  [[nodiscard]] Count leaving() const { return posted - sent; }
  [[nodiscard]] bool over() const { return sent == end; }
  /// `have`: segments that are here, from the first one on.
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
