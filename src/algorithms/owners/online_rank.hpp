// One rank of a call of online owners, without data and transport: it extends the timetable by the
// log of arrivals, and decides when it posts which block. It sends one block at a time and receives
// one at a time, in the order of the timetable: others would share its links, and the block that
// all wait for would be late.
#pragma once

#include <string>
#include <vector>

#include "algorithms/owners/arrival_log.hpp"
#include "algorithms/owners/timetable.hpp"

namespace latecomer::owners {

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
  /// All that its future depends on, for tests.
  [[nodiscard]] std::vector<Count> state() const;

 private:
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
