// One rank of a call of online owners, without data and transport: it extends the timetable by the
// log of arrivals, and decides when it posts which block. It sends one block at a time and receives
// one at a time, in the order of the timetable: others would share its links, and the block that
// all wait for would be late.
#pragma once

#include <string>
#include <vector>

#include "algorithms/owners/timetable.hpp"
#include "base/types.hpp"

namespace latecomer::owners {

// The log of a call: which rank has arrived, and from which round of the timetable on it takes
// part. All ranks that have arrived get the same log, so that each extends the same timetable.
//
// One rank, the coordinator, writes the log. It also sets the horizon: the log is complete for the
// rounds below it, and further entries begin at the horizon or later. So no rank sends or receives
// a block of a round at or beyond the horizon. The horizon stays a window ahead of the slowest rank
// of the log: rounds follow the execution, and no clock decides. Ranks that arrived meanwhile are
// entered when it moves.
//
// Updates go down a tree in the order of the log; reports go up it, of the rounds that are over in
// a subtree. The parent of a new rank sends it the whole log. The coordinator is the parent of the
// first rank. Where it is at another place itself, it has the children of that place but no parent:
// it knows entries before any other rank, and a parent would not know yet which rank reports.
// Data and transport are elsewhere, so that a test can go through all orders of messages.

struct LogEntry {
  Rank rank = 0;
  Count round = 0;  // the first one in which the rank takes part

  bool operator==(const LogEntry&) const = default;
};

/// The facts that all ranks of a call share.
struct OnlineCall {
  Rank ranks = 1;
  Count blocks = 1;
  Rank coordinator = 0;
  Count window = 1;   // rounds from the slowest rank to the horizon
  Count step = 1;     // rounds that are reported together
  Rank children = 2;  // of each rank in the tree of control messages
  Combines combines = Combines::yes;
  const char* member = "rank";  // the word for a rank in texts: it may stand for a node
};

/// A control message between two ranks.
struct LogMessage {
  enum class Kind : std::uint8_t {
    here,    // to the coordinator: the sender has arrived
    over,    // to the parent: the rounds before `round` are over in the sender's subtree
    update,  // to children: further entries; from now on the horizon is `round`
  };
  Kind kind = Kind::here;
  Count round = 0;
  std::vector<LogEntry> entries;

  bool operator==(const LogMessage&) const = default;
};

/// One rank's copy of the log.
class ArrivalLog {
 public:
  struct Outgoing {
    Rank to = 0;
    LogMessage message;
  };

  ArrivalLog(const OnlineCall& call, Rank me);

  // Events. Each appends the messages that are to be sent now.
  void arrive(std::vector<Outgoing>& out);
  /// The message must be one that can come.
  void hear(Rank from, const LogMessage& message, std::vector<Outgoing>& out);
  /// On this rank the rounds before `round` are over. May be called again.
  void finish(Count round, std::vector<Outgoing>& out);
  /// On the coordinator: moves the horizon if the slowest rank allows it and something can follow:
  /// ranks to enter, or `hops` at the present horizon. Returns true if it moved.
  bool advance(bool hops, std::vector<Outgoing>& out);

  /// False for a message that no rank of this call can have sent.
  [[nodiscard]] bool can_come(Rank from, const LogMessage& message) const;
  [[nodiscard]] const std::vector<LogEntry>& entries() const { return entries_; }
  [[nodiscard]] Count horizon() const { return horizon_; }
  /// True if all ranks are in the log: then there is no horizon any more.
  [[nodiscard]] bool complete() const { return size() == call_.ranks; }
  /// True if this rank is in its copy of the log.
  [[nodiscard]] bool entered() const { return place_ >= 0; }

 private:
  friend std::vector<Count> future_of(const ArrivalLog& log);  // for tests

  void update(const LogMessage& message, std::vector<Outgoing>& out);
  void pass_over(std::vector<Outgoing>& out);
  [[nodiscard]] bool can_update(Rank from, const LogMessage& message) const;
  [[nodiscard]] bool is_child(Rank place) const;
  [[nodiscard]] Rank parent_of(Rank place, const std::vector<LogEntry>& entries) const;
  [[nodiscard]] bool coordinates() const { return me_ == call_.coordinator; }
  [[nodiscard]] Count over_in_subtree() const;
  [[nodiscard]] Count over_on_all() const;
  [[nodiscard]] Rank size() const { return static_cast<Rank>(entries_.size()); }
  [[nodiscard]] Rank first_child() const { return place_ * call_.children + 1; }

  OnlineCall call_;
  Rank me_;
  bool arrived_ = false;
  std::vector<LogEntry> entries_;
  std::vector<Count> over_;    // by place: the rounds that are over in its subtree, as known here
  std::vector<Rank> waiting_;  // on the coordinator: ranks that are to be entered
  Rank place_ = -1;            // of this rank among the entries
  Count horizon_ = 0;
  Count own_over_ = 0;  // the rounds that are over on this rank
};

class OnlineRank {
 public:
  /// Contributions that are received or wait to be combined. Each has a landing of its own; they
  /// must be combined in the order of their receives.
  static constexpr std::size_t kLandings = 2;

  /// The actions that follow an event, in this order. Blocks are named by their numbers among
  /// those that this rank sends, and among those that it receives.
  struct Step {
    std::vector<ArrivalLog::Outgoing> tell;
    std::vector<std::size_t> send;
    std::vector<std::size_t> receive;
  };

  OnlineRank(const OnlineCall& call, Rank me);

  // Events.
  void arrive(Step& step);
  void hear(Rank from, const LogMessage& message, Step& step);
  void sent(std::size_t send, Step& step);
  /// A block is here: a result, or a contribution that is not combined yet.
  void received(std::size_t receive, Step& step);
  void combined(std::size_t receive, Step& step);

  /// True if this rank has the result, and no other rank needs it any more.
  [[nodiscard]] bool done() const;

  [[nodiscard]] const Hop& send_hop(std::size_t send) const { return sends_[send].hop; }
  [[nodiscard]] const Hop& receive_hop(std::size_t receive) const { return receives_[receive].hop; }
  /// True if it is the first block that the rank receives of these contributions.
  [[nodiscard]] bool first_contribution(std::size_t receive) const {
    return receives_[receive].earlier == 0;
  }
  /// The landing of a contribution.
  [[nodiscard]] std::size_t landing(std::size_t receive) const {
    return receives_[receive].number % kLandings;
  }
  /// True if this rank had combined the block with contributions of others before it sends it.
  [[nodiscard]] bool combined_before(std::size_t send) const { return sends_[send].earlier > 0; }
  /// The name of a rank in texts.
  [[nodiscard]] std::string name(Rank rank) const {
    return std::string(call_.member) + ' ' + std::to_string(rank);
  }
  /// A text that says what the rank waits for.
  [[nodiscard]] std::string waiting_for() const;
  [[nodiscard]] const ArrivalLog& log() const { return log_; }

 private:
  friend std::vector<Count> future_of(const OnlineRank& rank);  // for tests

  /// A block that this rank sends or receives.
  struct OwnHop {
    Hop hop;
    Count earlier = 0;       // receives of this block before it
    std::size_t number = 0;  // of a contribution: among all that this rank receives
    bool over = false;       // of a receive: here, and combined
  };

  void extend();
  void note_hops();
  void go_on(Step& step);
  [[nodiscard]] Count rounds_over();
  [[nodiscard]] bool may_send(const OwnHop& own) const;
  [[nodiscard]] bool may_receive(const OwnHop& own) const;

  Rank me_;
  OnlineCall call_;
  ArrivalLog log_;
  TimetableBuilder table_;
  std::size_t in_table_ = 0;  // entries of the log that the timetable has
  std::size_t noted_ = 0;     // hops of the timetable that were looked at
  std::vector<OwnHop> sends_;
  std::vector<OwnHop> receives_;
  std::size_t send_posted_ = 0;
  std::size_t send_over_ = 0;
  std::size_t receive_posted_ = 0;
  std::size_t receive_here_ = 0;
  std::size_t receive_over_ = 0;
  std::size_t contributions_noted_ = 0;  // among the receives
  std::size_t contributions_combined_ = 0;
  std::size_t first_receive_ = 0;  // that may not be over
  std::vector<Count> expected_;    // by block: receives so far
  std::vector<Count> here_;        // by block: those that are over
  std::vector<bool> giving_;       // by block: its contribution was planned to leave, and has not
};

}  // namespace latecomer::owners
