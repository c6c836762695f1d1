#include "algorithms/allreduce/online_owners/arrival_log.hpp"

#include <algorithm>

namespace latecomer::allreduce {

ArrivalLog::ArrivalLog(Rank ranks, Rank me, Rank coordinator, Count step)
    : ranks_(ranks), me_(me), coordinator_(coordinator), step_(step) {}

void ArrivalLog::arrive(std::vector<Outgoing>& out) {
  if (coordinates()) return append(me_, out);
  out.push_back({coordinator_, {LogMessage::Kind::here, me_, 0}});
}

void ArrivalLog::hear(const LogMessage& message, std::vector<Outgoing>& out) {
  switch (message.kind) {
    case LogMessage::Kind::here:
      if (coordinates()) append(message.rank, out);
      return;
    case LogMessage::Kind::entry:
      return enter({message.rank, message.round, message.round}, out);
    case LogMessage::Kind::horizon:
      return move_horizon(message.round, out);
    case LogMessage::Kind::near:
      note_near(message.rank, message.round);
      return pass_near(out);
  }
}

/// Ranks that arrive before the horizon moves take part from the same round on.
void ArrivalLog::append(Rank rank, std::vector<Outgoing>& out) { enter({rank, horizon_, horizon_}, out); }

void ArrivalLog::enter(const Entry& entry, std::vector<Outgoing>& out) {
  pass_down({LogMessage::Kind::entry, entry.rank, entry.round}, out);
  if (entry.rank == me_) place_ = static_cast<Rank>(entries_.size());
  entries_.push_back(entry);
  horizon_ = entry.round;
  if (entry.rank != me_) welcome(out);
}

/// The parent of the last entry sends it the log.
void ArrivalLog::welcome(std::vector<Outgoing>& out) const {
  const Rank rank = entries_.back().rank;
  if (rank == coordinator_ || parent_of(static_cast<Rank>(entries_.size()) - 1) != me_) return;
  for (const Entry& entry : entries_) {
    out.push_back({rank, {LogMessage::Kind::entry, entry.rank, entry.round}});
  }
}

void ArrivalLog::move_horizon(Count round, std::vector<Outgoing>& out) {
  pass_down({LogMessage::Kind::horizon, 0, round}, out);
  horizon_ = round;
}

void ArrivalLog::come_near(std::vector<Outgoing>& out) {
  near_ = horizon_;
  pass_near(out);
}

void ArrivalLog::note_near(Rank from, Count round) {
  for (Entry& entry : entries_) {
    if (entry.rank == from) entry.near = std::max(entry.near, round);
  }
}

/// To the parent, and from the first place to the coordinator, which moves the horizon.
void ArrivalLog::pass_near(std::vector<Outgoing>& out) {
  if (complete()) return;
  if (entered() && passed_ < horizon_ && subtree_near()) {
    passed_ = horizon_;
    note_near(me_, horizon_);
    if (place_ > 0 || !coordinates()) {
      out.push_back({parent_of(place_), {LogMessage::Kind::near, me_, horizon_}});
    }
  }
  if (coordinates() && !entries_.empty() && entries_.front().near == horizon_) {
    move_horizon(horizon_ + step_, out);
  }
}

/// A rank has come near the horizon at which it enters.
bool ArrivalLog::subtree_near() const {
  if (near_ < horizon_) return false;
  for (const Rank child : {2 * place_ + 1, 2 * place_ + 2}) {
    if (static_cast<std::size_t>(child) >= entries_.size()) break;
    if (entries_[static_cast<std::size_t>(child)].near < horizon_) return false;
  }
  return true;
}

Rank ArrivalLog::rank_at(Rank place) const { return entries_[static_cast<std::size_t>(place)].rank; }

Rank ArrivalLog::parent_of(Rank place) const {
  return place == 0 ? coordinator_ : rank_at((place - 1) / 2);
}

/// To the children: those of this rank's place, and the first place for the coordinator.
void ArrivalLog::pass_down(const LogMessage& message, std::vector<Outgoing>& out) const {
  if (coordinates()) pass_to(0, message, out);
  if (!entered()) return;
  pass_to(2 * place_ + 1, message, out);
  pass_to(2 * place_ + 2, message, out);
}

/// The coordinator knows everything already.
void ArrivalLog::pass_to(Rank place, const LogMessage& message, std::vector<Outgoing>& out) const {
  if (static_cast<std::size_t>(place) >= entries_.size()) return;
  const Rank rank = rank_at(place);
  if (rank != coordinator_) out.push_back({rank, message});
}

std::vector<Count> ArrivalLog::state() const {
  std::vector<Count> all = {horizon_, near_, passed_, place_};
  for (const Entry& entry : entries_) all.insert(all.end(), {entry.rank, entry.round, entry.near});
  return all;
}

}  // namespace latecomer::allreduce
