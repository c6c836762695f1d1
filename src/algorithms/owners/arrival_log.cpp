#include "algorithms/owners/arrival_log.hpp"

#include <algorithm>

namespace latecomer::owners {
namespace {

Rank place_of(Rank rank, const std::vector<LogEntry>& entries) {
  const auto found = std::ranges::find(entries, rank, &LogEntry::rank);
  return found == entries.end() ? -1 : static_cast<Rank>(found - entries.begin());
}

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

std::vector<Count> ArrivalLog::state() const {
  std::vector<Count> all = {arrived_, horizon_, own_over_, place_, size()};
  all.insert(all.end(), over_.begin(), over_.end());
  all.insert(all.end(), waiting_.begin(), waiting_.end());
  for (const LogEntry& entry : entries_) all.insert(all.end(), {entry.rank, entry.round});
  return all;
}

}  // namespace latecomer::owners
