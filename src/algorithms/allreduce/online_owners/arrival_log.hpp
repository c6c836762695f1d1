// The log of a call: which rank has arrived, and from which round of the timetable on it takes
// part. All ranks that have arrived get the same log, so that each extends the same timetable.
//
// One rank, the coordinator, orders the entries. It also sets the horizon: the log is complete
// for the rounds below it, and further entries begin at the horizon or later. So nobody sends or
// receives a block of a round at or beyond the horizon. Ranks ask for a later horizon when they
// come near it: rounds follow the execution, and no clock decides.
//
// Entries and horizons go down a binary tree in the order of the log, and requests go up. The
// parent of a rank that arrives sends it the log. State, transport and time of the data are
// elsewhere, so that a test can go through all orders of messages.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace latecomer::allreduce {

/// A control message between two ranks.
struct LogMessage {
  enum class Kind : std::uint8_t {
    here,     // to the coordinator: I have arrived
    entry,    // `rank` takes part from `round` on; this is the horizon
    horizon,  // the horizon is `round`
    near,     // all ranks of the sender's subtree are near the horizon `round`
  };
  Kind kind = Kind::here;
  Rank rank = 0;  // of an entry; otherwise the sender
  Count round = 0;

  bool operator==(const LogMessage&) const = default;
};

/// One rank's copy of the log.
class ArrivalLog {
 public:
  struct Entry {
    Rank rank = 0;
    Count round = 0;
    Count near = 0;  // the horizon that its subtree is near; of this rank's children alone

    bool operator==(const Entry&) const = default;
  };
  struct Outgoing {
    Rank to = 0;
    LogMessage message;
  };

  /// `step`: rounds by which the horizon moves.
  ArrivalLog(Rank ranks, Rank me, Rank coordinator, Count step);

  // Events. Each appends the messages that are to be sent now.
  void arrive(std::vector<Outgoing>& out);
  void hear(const LogMessage& message, std::vector<Outgoing>& out);
  /// This rank has come near the present horizon. May be called again.
  void come_near(std::vector<Outgoing>& out);

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  /// Grows from event to event.
  [[nodiscard]] Count horizon() const { return horizon_; }
  /// True if all ranks are in the log: then there is no horizon any more.
  [[nodiscard]] bool complete() const { return entries_.size() == static_cast<std::size_t>(ranks_); }
  /// True if this rank is in its copy of the log.
  [[nodiscard]] bool entered() const { return place_ >= 0; }
  /// All that its future depends on, for tests.
  [[nodiscard]] std::vector<Count> state() const;
  [[nodiscard]] bool coordinates() const { return me_ == coordinator_; }
  [[nodiscard]] Rank coordinator() const { return coordinator_; }

 private:
  void append(Rank rank, std::vector<Outgoing>& out);
  void enter(const Entry& entry, std::vector<Outgoing>& out);
  void move_horizon(Count round, std::vector<Outgoing>& out);
  void note_near(Rank from, Count round);
  void pass_near(std::vector<Outgoing>& out);
  void pass_down(const LogMessage& message, std::vector<Outgoing>& out) const;
  void pass_to(Rank place, const LogMessage& message, std::vector<Outgoing>& out) const;
  void welcome(std::vector<Outgoing>& out) const;
  [[nodiscard]] bool subtree_near() const;
  [[nodiscard]] Rank rank_at(Rank place) const;
  [[nodiscard]] Rank parent_of(Rank place) const;

  Rank ranks_;
  Rank me_;
  Rank coordinator_;
  Count step_;
  std::vector<Entry> entries_;
  Rank place_ = -1;  // of this rank among the entries
  Count horizon_ = 0;
  Count near_ = -1;    // the horizon that this rank is near
  Count passed_ = -1;  // the horizon that its subtree is near, as its parent was told
};

}  // namespace latecomer::allreduce
