// The ranks of a meeting without messages' contents or a clock: all that can happen next is at
// hand, so that every order of events can be tried. Time may be over for a rank at any moment.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "agreement/meeting_rank.hpp"
#include "unit/futures.hpp"

namespace latecomer::testing {

/// The differences of the world from one where all is well.
struct MeetingRules {
  bool misses = false;  // ranks may lose patience
  MeetingRank::Late late = MeetingRank::Late::hears;
  bool stops = false;  // one rank may never come, or stop after any of its steps
  Rank declines = -1;
  Rank stranger = -1;  // its meeting is about something else
  // Faults.
  bool hasty = false;    // ranks that have accepted lose patience, too
  bool forgets = false;  // what comes before it is awaited is lost
};

class MeetingWorld {
 public:
  enum class Happening : std::uint8_t { comes, answers, hears, misses, stops };
  struct Event {
    Happening what;
    Rank rank;
  };
  using Bytes = std::vector<Told>;  // by rank

  MeetingWorld(const Bytes& tell, MeetingRank::Merge merge, MeetingRules rules)
      : rules_(rules), alive_(tell.size(), true), came_(tell.size(), false) {
    const auto ranks = static_cast<Rank>(tell.size());
    for (Rank rank = 0; rank < ranks; ++rank) {
      const std::uint64_t about = rank == rules.stranger ? 8 : 7;
      members_.emplace_back(ranks, rank, about, 1.0, tell[static_cast<std::size_t>(rank)], merge,
                            rules.late);
    }
  }

  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> all;
    for (Rank rank = 0; rank < ranks(); ++rank) {
      const MeetingRank& member = at(rank);
      if (!alive(rank) || member.over()) continue;
      if (rules_.stops && !stopped()) all.push_back({Happening::stops, rank});
      if (!came(rank)) {
        all.push_back({Happening::comes, rank});
      } else if (member.asked()) {
        all.push_back({Happening::answers, rank});
      } else {
        const MeetingRank::Awaited awaited = member.awaited();
        if (box_.contains({awaited.from, rank, awaited.step})) {
          all.push_back({Happening::hears, rank});
        }
        if (rules_.misses && (awaited.until < MeetingRank::kNever || rules_.hasty)) {
          all.push_back({Happening::misses, rank});
        }
      }
    }
    return all;
  }

  void happen(const Event& event) {
    MeetingRank& member = members_[static_cast<std::size_t>(event.rank)];
    switch (event.what) {
      case Happening::stops:
        alive_[static_cast<std::size_t>(event.rank)] = false;
        return;
      case Happening::comes:
        came_[static_cast<std::size_t>(event.rank)] = true;
        return act(event.rank, member.come());
      case Happening::answers:
        return act(event.rank, member.answer(event.rank != rules_.declines, 0));
      case Happening::misses:
        return act(event.rank, member.miss(0));
      case Happening::hears:
        break;
    }
    const MeetingRank::Awaited awaited = member.awaited();
    const auto letter = box_.find({awaited.from, event.rank, awaited.step});
    const MeetingRank::Message message = letter->second;
    box_.erase(letter);
    act(event.rank, member.hear(message, 0));
  }

  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(members_.size()); }
  [[nodiscard]] const MeetingRank& at(Rank rank) const {
    return members_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] bool alive(Rank rank) const { return alive_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool stopped() const { return std::ranges::count(alive_, false) > 0; }

  /// True if two ranks that are over have met differently, or do not have the same result.
  [[nodiscard]] bool disagrees() const {
    const MeetingRank* first = nullptr;
    for (Rank rank = 0; rank < ranks(); ++rank) {
      if (!at(rank).over()) continue;
      if (first == nullptr) first = &at(rank);
      if (at(rank).met() != first->met()) return true;
      if (at(rank).met() == Met::agreed && at(rank).told() != first->told()) return true;
    }
    return false;
  }
  /// Where nothing can happen any more: true if each rank is over, or waits below the one that
  /// stopped for its verdict, and has said so.
  [[nodiscard]] bool well_ended() const {
    for (Rank rank = 0; rank < ranks(); ++rank) {
      if (!alive(rank) || at(rank).over()) continue;
      const bool waits =
          came(rank) && !at(rank).asked() && at(rank).awaited().step == MeetingRank::Step::verdict;
      if (!waits || !reported_.contains(rank)) return false;
      const Rank above = at(rank).awaited().from;
      if (alive(above) && at(above).over()) return false;
    }
    return true;
  }

  [[nodiscard]] std::string key() const {
    std::string text;
    for (Rank rank = 0; rank < ranks(); ++rank) {
      for (const Count part : future_of(at(rank))) text.push_back(static_cast<char>(part));
      text.push_back(static_cast<char>(2 * alive(rank) + came(rank)));
      text.append(at(rank).told().begin(), at(rank).told().end());
    }
    for (const auto& [way, message] : box_) {
      const auto& [from, to, step] = way;
      for (const auto part : {from, to, static_cast<Rank>(step), static_cast<Rank>(message.met)}) {
        text.push_back(static_cast<char>(part));
      }
    }
    return text;
  }

 private:
  [[nodiscard]] bool came(Rank rank) const { return came_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool awaits(Rank rank, Rank from, MeetingRank::Step step) const {
    if (!came(rank) || at(rank).over() || at(rank).asked()) return false;
    const MeetingRank::Awaited awaited = at(rank).awaited();
    return awaited.from == from && awaited.step == step;
  }
  void act(Rank me, const MeetingRank::Actions& actions) {
    if (actions.awaited) reported_[me] = *actions.awaited;
    for (const auto& [to, message] : actions.tell) {
      if (rules_.forgets && !awaits(to, me, message.step)) continue;
      box_.insert_or_assign({me, to, message.step}, message);
    }
  }

  MeetingRules rules_;
  std::vector<MeetingRank> members_;
  std::vector<bool> alive_;
  std::vector<bool> came_;
  std::map<std::tuple<Rank, Rank, MeetingRank::Step>, MeetingRank::Message> box_;  // from, to
  std::map<Rank, Rank> reported_;  // ranks, and of whom they said that it owes a verdict
};

}  // namespace latecomer::testing
