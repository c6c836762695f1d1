// All that the future of each state machine depends on, so that tests can tell which states they
// have been in: equal for two of them exactly if the same may happen to both.
#pragma once

#include <vector>

#include "agreement/meeting_rank.hpp"
#include "agreement/notices.hpp"
#include "agreement/slots.hpp"
#include "algorithms/bcast/arrival/arrival_rank.hpp"
#include "algorithms/owners/online_rank.hpp"
#include "algorithms/reduce/local_redirect/local_redirect_state.hpp"

namespace latecomer {

inline std::vector<Count> future_of(const Slots& slots) {
  std::vector<Count> all = {static_cast<Count>(slots.next_), static_cast<Count>(slots.first_free_)};
  for (const Slot each : slots.taken_) all.push_back(static_cast<Count>(each));
  return all;
}

/// Apart from told().
inline std::vector<Count> future_of(const MeetingRank& rank) {
  std::vector<Count> all = {static_cast<Count>(rank.part_), static_cast<Count>(rank.child_),
                            static_cast<Count>(rank.met_),
                            rank.until_ < MeetingRank::kNever ? 1 : 0};
  for (const TreeNode::Child& each : rank.node_.children) all.push_back(each.rank);
  all.push_back(-1);
  return all;
}

inline std::vector<Count> future_of(const Notices& notices) {
  std::vector<Count> all;
  const auto add = [&](auto... numbers) { (all.push_back(static_cast<Count>(numbers)), ...); };
  const auto add_place = [&](const Notices::Place& place) {
    add(place.position, place.call, place.part, place.plan_hash);
  };
  add_place(notices.here_);
  add(notices.announced_);
  for (const auto& [place, announced] : notices.history_) add_place(place), add(announced);
  for (const auto& [from, notice] : notices.unread_) add(from, notice.kind), add_place(notice.from);
  for (const auto* const ranks : {&notices.asked_, &notices.failed_}) {
    for (const Rank rank : *ranks) add(rank);
    add(-1);
  }
  return all;
}

namespace bcast {

inline std::vector<Count> future_of(const Forwarder& rank) {
  std::vector<Count> all = {rank.arrived_, rank.last_,   rank.feeder_, rank.rest_,
                            rank.soon_,    rank.posted_, rank.have_};
  for (const bool here : rank.here_) all.push_back(here);
  if (rank.next_) all.insert(all.end(), {rank.next_->to, rank.next_->posted, rank.next_->sent});
  return all;
}

inline std::vector<Count> future_of(const RootScheduler& root) {
  std::vector<Count> all = {root.arrived_, root.tail_, root.ended_, root.leaving_, root.announced_};
  for (const bool provided : root.provided_) all.push_back(provided);
  for (const Rank rank : root.waiting_) all.push_back(rank);
  for (const auto& feed : {root.live_, root.ahead_}) {
    all.push_back(-1);
    if (feed) all.insert(all.end(), {feed->to, feed->posted, feed->sent});
  }
  return all;
}

inline std::vector<Count> future_of(const ArrivalRank& rank) {
  return rank.root() != nullptr ? future_of(*rank.root()) : future_of(*rank.fed());
}

}  // namespace bcast

namespace owners {

inline std::vector<Count> future_of(const ArrivalLog& log) {
  std::vector<Count> all = {log.arrived_, log.horizon_, log.own_over_, log.place_, log.size()};
  all.insert(all.end(), log.over_.begin(), log.over_.end());
  all.insert(all.end(), log.waiting_.begin(), log.waiting_.end());
  for (const LogEntry& entry : log.entries_) all.insert(all.end(), {entry.rank, entry.round});
  return all;
}

inline std::vector<Count> future_of(const OnlineRank& rank) {
  std::vector<Count> all = future_of(rank.log_);
  for (const std::size_t each : {rank.sends_.size(), rank.send_posted_, rank.send_over_,
                                 rank.receive_posted_, rank.receive_here_}) {
    all.push_back(static_cast<Count>(each));
  }
  for (const auto& own : rank.receives_) all.push_back(own.over);
  return all;
}

}  // namespace owners

namespace reduce {

inline std::vector<Count> future_of(const LocalRedirectState& rank) {
  return {rank.left_,
          rank.right_,
          rank.arrived_,
          rank.gone_,
          static_cast<Count>(rank.waiting_),
          rank.offered_,
          rank.asked_,
          rank.owes_,
          rank.left_of_given_,
          rank.merges_};
}

}  // namespace reduce
}  // namespace latecomer
