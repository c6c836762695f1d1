#include "algorithms/allreduce/online_owners/arrival_log.hpp"

#include <algorithm>

namespace latecomer::allreduce {

ArrivalLog::ArrivalLog(const OnlineCall& call, Rank me) : call_(call), me_(me) {}

void ArrivalLog::arrive(std::vector<Outgoing>& out) {
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
      for (Rank place = 0; place < size(); ++place) {
        if (entries_[place].rank == from) over_[place] = message.round;
      }
      return pass_over(out);
    case LogMessage::Kind::update:
      return update(message, out);
  }
}

void ArrivalLog::finish(Count round, std::vector<Outgoing>& out) {
  own_over_ = round;
  pass_over(out);
}

/// Tells the parent in steps, and when all is over up to the horizon.
void ArrivalLog::pass_over(std::vector<Outgoing>& out) {
  if (complete() || !entered()) return;
  const Count over = over_in_subtree();
  const Count told = over_[place_];
  if (over <= told || (over < told + call_.step && over < horizon_)) return;
  over_[place_] = over;
  const Rank parent =
      place_ == 0 ? call_.coordinator : entries_[(place_ - 1) / call_.children].rank;
  if (parent != me_) out.push_back({parent, {LogMessage::Kind::over, over, {}}});
}

Count ArrivalLog::over_in_subtree() const {
  Count over = own_over_;
  const Rank end = std::min(first_child() + call_.children, size());
  for (Rank place = first_child(); place < end; ++place) over = std::min(over, over_[place]);
  return over;
}

bool ArrivalLog::advance(bool hops, std::vector<Outgoing>& out) {
  if (!coordinates() || complete() || (waiting_.empty() && !hops)) return false;
  const Count horizon = (entries_.empty() ? 0 : over_.front()) + call_.window;
  if (horizon <= horizon_) return false;
  LogMessage message{LogMessage::Kind::update, horizon, {}};
  for (const Rank rank : waiting_) message.entries.push_back({rank, horizon_});
  waiting_.clear();
  update(message, out);
  return true;
}

/// Children that are new get the whole log. The coordinator is the parent of the first place, and
/// gets no updates.
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
  std::vector<Count> all = {horizon_, own_over_, place_};
  all.insert(all.end(), over_.begin(), over_.end());
  all.insert(all.end(), waiting_.begin(), waiting_.end());
  for (const LogEntry& entry : entries_) all.insert(all.end(), {entry.rank, entry.round});
  return all;
}

}  // namespace latecomer::allreduce
