#include "algorithms/owners/online_rank.hpp"

#include <algorithm>

namespace latecomer::owners {
namespace {

Rank place_of(Rank rank, const std::vector<LogEntry>& entries) {
  const auto found = std::ranges::find(entries, rank, &LogEntry::rank);
  return found == entries.end() ? -1 : static_cast<Rank>(found - entries.begin());
}

/// Blocks to send, and to receive, that the timetable should have.
constexpr std::size_t kAtHand = 4;

}  // namespace

ArrivalLog::ArrivalLog(const OnlineCall& call, Rank me) : call_(call), me_(me) {}

void ArrivalLog::arrive(std::vector<Outgoing>& out) {
  arrived_ = true;
  if (coordinates()) {
    waiting_.push_back(me_);
  } else {
    out.push_back({call_.coordinator, {LogMessage::Kind::here, 0, {}}});
  }
}

void ArrivalLog::hear(Rank from, const LogMessage& message, std::vector<Outgoing>& out) {
  switch (message.kind) {
    case LogMessage::Kind::here:
      waiting_.push_back(from);
      return;
    case LogMessage::Kind::over:
      over_[place_of(from, entries_)] = message.round;
      return pass_over(out);
    case LogMessage::Kind::update:
      return update(message, out);
  }
}

bool ArrivalLog::can_come(Rank from, const LogMessage& message) const {
  if (from < 0 || from >= call_.ranks || from == me_) return false;
  const Rank place = place_of(from, entries_);
  switch (message.kind) {
    case LogMessage::Kind::here:
      return coordinates() && message == LogMessage{} && place < 0 &&
             std::ranges::find(waiting_, from) == waiting_.end();
    case LogMessage::Kind::over:
      return message.entries.empty() && place >= 0 && is_child(place) &&
             message.round > over_[place] && message.round <= horizon_;
    case LogMessage::Kind::update:
      return arrived_ && !coordinates() && !complete() && can_update(from, message);
  }
  return false;
}

/// A rank that is new gets the whole log, which ends with those that are entered together with it.
/// Others get entries of one round, the former horizon.
bool ArrivalLog::can_update(Rank from, const LogMessage& message) const {
  const auto& entries = message.entries;
  const Rank place = entered() ? place_ : place_of(me_, entries);
  if (place < 0 || parent_of(place, entered() ? entries_ : entries) != from) return false;
  const Count former = entered() ? horizon_ : entries[place].round;
  if (message.round <= former || message.round > former + call_.window) return false;
  if (!entries.empty() && entries.back().round != former) return false;
  std::vector<bool> known(static_cast<std::size_t>(call_.ranks), false);
  for (const LogEntry& entry : entries_) known[entry.rank] = true;
  Count round = entered() ? former : 0;
  for (const LogEntry& entry : entries) {
    if (entry.rank >= call_.ranks || known[entry.rank] || entry.round < round) return false;
    known[entry.rank] = true;
    round = entry.round;
  }
  return true;
}

bool ArrivalLog::is_child(Rank place) const {
  if (coordinates() && place == 0) return true;
  return entered() && place >= first_child() && place < first_child() + call_.children;
}

Rank ArrivalLog::parent_of(Rank place, const std::vector<LogEntry>& entries) const {
  return place == 0 ? call_.coordinator : entries[(place - 1) / call_.children].rank;
}

void ArrivalLog::finish(Count round, std::vector<Outgoing>& out) {
  own_over_ = round;
  pass_over(out);
}

/// Tells the parent in steps, and when all is over up to the horizon.
void ArrivalLog::pass_over(std::vector<Outgoing>& out) {
  if (complete() || !entered() || coordinates()) return;
  const Count over = over_in_subtree();
  const Count told = over_[place_];
  if (over <= told || (over < told + call_.step && over < horizon_)) return;
  over_[place_] = over;
  out.push_back({parent_of(place_, entries_), {LogMessage::Kind::over, over, {}}});
}

/// The coordinator's subtree is not included in that of its parent.
Count ArrivalLog::over_in_subtree() const {
  Count over = own_over_;
  const Rank end = std::min(first_child() + call_.children, size());
  for (Rank place = first_child(); place < end; ++place) {
    if (entries_[place].rank != call_.coordinator) over = std::min(over, over_[place]);
  }
  return over;
}

/// On the coordinator: the rounds that are over on all ranks of the log.
Count ArrivalLog::over_on_all() const {
  if (entries_.empty()) return 0;
  const Count rest = entries_.front().rank == me_ ? horizon_ : over_.front();
  return entered() ? std::min(rest, over_in_subtree()) : rest;
}

bool ArrivalLog::advance(bool hops, std::vector<Outgoing>& out) {
  if (!coordinates() || complete() || (waiting_.empty() && !hops)) return false;
  const Count horizon = over_on_all() + call_.window;
  if (horizon <= horizon_) return false;
  LogMessage message{LogMessage::Kind::update, horizon, {}};
  for (const Rank rank : waiting_) message.entries.push_back({rank, horizon_});
  waiting_.clear();
  update(message, out);
  return true;
}

/// Children that are new get the whole log. The coordinator gets no updates.
void ArrivalLog::update(const LogMessage& message, std::vector<Outgoing>& out) {
  const auto known = static_cast<Rank>(entries_.size());
  for (const LogEntry& entry : message.entries) {
    if (entry.rank == me_) place_ = size();
    entries_.push_back(entry);
    over_.push_back(entry.round);
  }
  horizon_ = message.round;
  const auto pass = [&](Rank place) {
    if (place >= size() || entries_[place].rank == call_.coordinator) return;
    LogMessage passed = message;
    if (place >= known) passed.entries = entries_;
    out.push_back({entries_[place].rank, std::move(passed)});
  };
  if (coordinates()) pass(0);
  if (!entered()) return;
  for (Rank child = 0; child < call_.children; ++child) pass(first_child() + child);
}

OnlineRank::OnlineRank(const OnlineCall& call, Rank me)
    : me_(me),
      call_(call),
      log_(call, me),
      table_(call.ranks, call.blocks, call.combines),
      expected_(static_cast<std::size_t>(call.blocks), 0),
      here_(static_cast<std::size_t>(call.blocks), 0),
      giving_(static_cast<std::size_t>(call.blocks), false) {}

void OnlineRank::arrive(Step& step) {
  log_.arrive(step.tell);
  go_on(step);
}

void OnlineRank::hear(Rank from, const LogMessage& message, Step& step) {
  log_.hear(from, message, step.tell);
  go_on(step);
}

void OnlineRank::sent(std::size_t send, Step& step) {
  const OwnHop& own = sends_[send];
  ++send_over_;
  if (!own.hop.final) giving_[own.hop.block] = false;
  go_on(step);
}

void OnlineRank::received(std::size_t receive, Step& step) {
  ++receive_here_;
  if (receives_[receive].hop.final) return combined(receive, step);
  go_on(step);
}

void OnlineRank::combined(std::size_t receive, Step& step) {
  OwnHop& own = receives_[receive];
  ++receive_over_;
  ++here_[own.hop.block];
  if (!own.hop.final) ++contributions_combined_;
  own.over = true;
  go_on(step);
}

void OnlineRank::go_on(Step& step) {
  do {
    extend();
    log_.finish(rounds_over(), step.tell);
  } while (log_.advance(!table_.dry(), step.tell));
  const bool sends = send_posted_ > send_over_;
  if (!sends && send_posted_ < sends_.size() && may_send(sends_[send_posted_])) {
    step.send.push_back(send_posted_++);
  }
  const bool receives = receive_posted_ > receive_here_;
  if (!receives && receive_posted_ < receives_.size() && may_receive(receives_[receive_posted_])) {
    step.receive.push_back(receive_posted_++);
  }
}

/// All rounds before it are over on this rank, as far as they are known.
Count OnlineRank::rounds_over() {
  Count over = log_.horizon();
  if (send_over_ < sends_.size()) over = sends_[send_over_].hop.round;
  while (first_receive_ < receives_.size() && receives_[first_receive_].over) ++first_receive_;
  if (first_receive_ < receives_.size()) {
    over = std::min(over, receives_[first_receive_].hop.round);
  }
  return over;
}

/// All earlier contributions must be combined with it, or the result must be here.
bool OnlineRank::may_send(const OwnHop& own) const { return here_[own.hop.block] == own.earlier; }

/// A result is received where the contribution was, which must have left. It may be over before
/// earlier contributions are combined, and frees no landing.
bool OnlineRank::may_receive(const OwnHop& own) const {
  if (own.hop.final) return !giving_[own.hop.block];
  return own.number < contributions_combined_ + kLandings;
}

/// Extends the timetable up to the horizon or, when all ranks have arrived, as far as this rank
/// needs it now: the rest is computed while blocks move.
void OnlineRank::extend() {
  const auto& entries = log_.entries();
  for (; in_table_ < entries.size(); ++in_table_) {
    table_.fill_until(entries[in_table_].round);
    table_.add(entries[in_table_].rank);
  }
  if (!log_.complete()) {
    table_.fill_until(log_.horizon());
    return note_hops();
  }
  note_hops();
  while (!table_.complete() && !table_.dry() &&
         (sends_.size() - send_posted_ < kAtHand || receives_.size() - receive_posted_ < kAtHand)) {
    table_.fill();
    note_hops();
  }
}

void OnlineRank::note_hops() {
  for (; noted_ < table_.hops().size(); ++noted_) {
    const Hop& hop = table_.hops()[noted_];
    const auto block = static_cast<std::size_t>(hop.block);
    if (hop.from == me_) {
      sends_.push_back({hop, expected_[block], 0, false});
      if (!hop.final) giving_[block] = true;
    }
    if (hop.to != me_) continue;
    receives_.push_back({hop, expected_[block]++, contributions_noted_, false});
    if (!hop.final) ++contributions_noted_;
  }
}

bool OnlineRank::done() const {
  return log_.complete() && table_.complete() && noted_ == table_.hops().size() &&
         send_over_ == sends_.size() && receive_over_ == receives_.size();
}

std::string OnlineRank::waiting_for() const {
  if (!log_.entered()) {
    return "for " + name(call_.coordinator) + ", which orders arrivals";
  }
  std::string text;
  const auto add = [&](const char* what, Rank peer) {
    text += (text.empty() ? "" : ", ") + std::string(what) + name(peer);
  };
  if (send_posted_ > send_over_) add("to send to ", sends_[send_over_].hop.to);
  for (std::size_t i = 0; i < receive_posted_; ++i) {
    if (!receives_[i].over) add("to receive from ", receives_[i].hop.from);
  }
  std::vector<bool> here(static_cast<std::size_t>(call_.ranks), false);
  for (const LogEntry& entry : log_.entries()) here[entry.rank] = true;
  for (Rank rank = 0; rank < call_.ranks; ++rank) {
    if (!here[rank]) add("for the arrival of ", rank);
  }
  return text;
}

}  // namespace latecomer::owners
