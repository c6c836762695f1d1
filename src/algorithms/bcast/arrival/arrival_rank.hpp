// The ranks of an arrival broadcast as state machines: the root, which schedules, and the others,
// which forward.
#pragma once

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "base/types.hpp"

namespace latecomer::bcast {

// The words that ranks of an arrival broadcast send each other, and the steps that events lead to.

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

/// A rank of an arrival broadcast that is not the root: it tells the root that it has arrived,
/// receives the segments from the rank that feeds it, and forwards each at once to the rank that
/// the root names.
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

 private:
  friend std::vector<Count> future_of(const Forwarder& rank);  // for tests

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

/// The root of an arrival broadcast, which decides from which rank each rank gets the vector. It
/// has no data, no transport and no clock: tests explore it in all orders of events.
///
/// Each rank tells the root that it has arrived. The root feeds the first one. This rank and those
/// that arrive meanwhile make a chain that grows at its end: the root tells the last rank of the
/// chain which newcomer to feed, and need not serve the newcomer itself. The chain ends when the
/// root has sent all to its first rank: then the root can feed the next newcomer itself, and lets
/// the end of the chain leave. So each rank is fed as soon as it arrives, by a rank that has fed no
/// other yet, and only the root waits for absent ranks.
///
/// With `ahead` the root does not wait either: while it feeds no chain, it sends to the lowest
/// absent rank, where messages wait for their receiver. A word before them announces so many
/// segments at a time: the first such word lets the rank receive them. If the rank arrives before
/// it was sent all, it begins a chain; or, where the root feeds another chain by then, the end of
/// that chain sends the segments that were not announced.
class RootScheduler {
 public:
  /// `segments`: 0 for an empty vector.
  /// `ahead`: the number of segments that it announces at a time to absent ranks; 0: none.
  RootScheduler(Rank me, Rank ranks, Count segments, Count ahead);

  Step arrive();
  Step hear(Rank from, Word word);
  Step sent(Rank to);

  /// True if all ranks have been fed, or are fed by others.
  [[nodiscard]] bool done() const;
  /// The rank to which it sends; -1: it waits for absent ranks.
  [[nodiscard]] Rank feeds() const { return live_ ? live_->to : ahead_ ? ahead_->to : -1; }
  /// The lowest absent rank; -1: none.
  [[nodiscard]] Rank absent() const;

 private:
  friend std::vector<Count> future_of(const RootScheduler& root);  // for tests

  void begin_chain(const Feed& feed, Step& step);
  void append(Rank rank, Count segment, Step& step);
  void end_chain(Step& step);
  void send_ahead(Feed& ahead, Step& step);
  void meet(Feed begun, Step& step);
  static void let_go(Rank rank, Step& step);
  void provide(Rank rank);
  void serve(Step& step);
  void tell_if_all_have_come(Step& step);

  Count segments_;
  Count at_a_time_;
  bool arrived_ = false;
  std::vector<bool> provided_;  // by rank: a rank feeds it, or has; true of the root
  Rank unprovided_;
  std::vector<Rank> waiting_;  // ranks that arrived before the root
  std::optional<Feed> live_;   // to the first one of the chain that grows
  std::optional<Feed> ahead_;  // to an absent rank
  Count announced_ = 0;        // to that rank: all segments before it
  Rank tail_ = -1;             // of the chain
  bool ended_ = false;         // the chain's tail knows that it is the last
  Count leaving_ = 0;          // segments on their way to ranks that other ranks feed now
};

// One rank of an arrival broadcast, the root or another, as the code that carries out its steps
// sees it.

/// The facts about the call that all ranks know.
struct Feeding {
  Rank ranks = 1;
  Rank root = 0;
  Count segments = 0;  // not counting empty ones
  Count ahead = 0;     // segments that the root announces at a time to absent ranks; 0: none
};

class ArrivalRank {
 public:
  ArrivalRank(const Feeding& feeding, Rank me) : rank_(made(feeding, me)) {}

  Step arrive() {
    return std::visit([](auto& rank) { return rank.arrive(); }, rank_);
  }
  Step hear(Rank from, Word word) {
    return std::visit([&](auto& rank) { return rank.hear(from, word); }, rank_);
  }
  /// A segment has left.
  Step sent(Rank to) {
    return std::visit([&](auto& rank) { return rank.sent(to); }, rank_);
  }
  /// A segment is here. Never at the root.
  Step received(Count segment) { return std::get<Forwarder>(rank_).received(segment); }
  /// True if it may leave: no other rank needs it any more.
  [[nodiscard]] bool done() const {
    return std::visit([](const auto& rank) { return rank.done(); }, rank_);
  }
  /// Null where the rank has the other role.
  [[nodiscard]] const RootScheduler* root() const { return std::get_if<RootScheduler>(&rank_); }
  [[nodiscard]] const Forwarder* fed() const { return std::get_if<Forwarder>(&rank_); }

 private:
  using Role = std::variant<RootScheduler, Forwarder>;

  static Role made(const Feeding& feeding, Rank me) {
    if (me != feeding.root) return Forwarder(feeding.root, feeding.segments);
    return RootScheduler(me, feeding.ranks, feeding.segments, feeding.ahead);
  }

  Role rank_;
};

}  // namespace latecomer::bcast
