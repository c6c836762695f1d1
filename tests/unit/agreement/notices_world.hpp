// Ranks in a series of calls without data or clock, and their notices: all that can happen next is
// at hand, so that every order of events can be tried.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agreement/notices.hpp"
#include "unit/futures.hpp"

namespace latecomer::testing {

/// A call of all ranks.
struct NoticedCall {
  bool all = true;         // each rank waits for all; otherwise all wait for rank 0, who goes on
  bool announced = false;  // rank 0 announces the plan
  bool exchange = false;   // of arrivals, afterwards
  bool memory = false;     // all ranks but the one that differs agree on memory before
  bool without = false;    // no memory is had: all follow another plan
  Rank differs = -1;       // makes another plan; if the plan is announced: does not wait for it
  Rank leaves = -1;        // to the MPI library, whose call returns
  Rank refused = -1;       // by the MPI library before, and comes again
};

struct NoticedRules {
  bool stops = false;    // one rank may stop at any moment
  Rank fails = -1;       // may fail in any part of a call
  Rank asker = -1;       // the only one that asks; -1: all do
  bool forgets = false;  // a fault: what cannot be answered yet is lost
};

class NoticesWorld {
 public:
  enum class Happening : std::uint8_t { goes_on, asks, hears, looks, stops, fails };
  struct Event {
    Happening what;
    Rank rank;
    Rank from = -1;
  };
  struct Text {
    Rank rank;
    std::string text;
  };

  NoticesWorld(Rank ranks, std::vector<NoticedCall> calls, NoticedRules rules)
      : calls_(std::move(calls)), rules_(rules), members_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> all;
    for (Rank rank = 0; rank < ranks(); ++rank) {
      const Member& member = at(rank);
      if (!runs(rank)) continue;
      if (rules_.stops && !has_stopped()) all.push_back({Happening::stops, rank});
      if (may_go_on(rank)) all.push_back({Happening::goes_on, rank});
      if (member.part == Part::outside) continue;
      if (rank == rules_.fails) all.push_back({Happening::fails, rank});
      const bool asks = rules_.asker < 0 || rules_.asker == rank;
      if (asks && member.part != Part::entered && member.asked < ranks() - 1) {
        all.push_back({Happening::asks, rank});
      }
      Notices looking = member.notices;
      if (looking.check() || future_of(looking) != future_of(member.notices)) {
        all.push_back({Happening::looks, rank});
      }
      for (Rank from = 0; from < ranks(); ++from) {
        const auto lane = lanes_.find({from, rank});
        if (lane == lanes_.end() || lane->second.empty()) continue;
        all.push_back({Happening::hears, rank, from});
      }
    }
    return all;
  }

  void happen(const Event& event) {
    Member& member = members_[static_cast<std::size_t>(event.rank)];
    switch (event.what) {
      case Happening::goes_on:
        return go_on(event.rank);
      case Happening::asks: {
        const Rank peer = (event.rank + ++member.asked) % ranks();
        if (const auto notice = member.notices.ask(peer)) {
          lanes_[{event.rank, peer}].push_back(*notice);
        }
        return;
      }
      case Happening::hears:
        return hear(event.rank, event.from);
      case Happening::looks:
        return look(event.rank, member.notices.check());
      case Happening::stops:
        member.stopped = true;
        return;
      case Happening::fails:
        return fail(event.rank);
    }
  }

  /// The words of ranks that ended so.
  [[nodiscard]] const std::vector<Text>& texts() const { return texts_; }
  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(members_.size()); }
  [[nodiscard]] bool failed(Rank rank) const { return at(rank).failed; }
  [[nodiscard]] bool stopped(Rank rank) const { return at(rank).stopped; }
  [[nodiscard]] bool has_stopped() const {
    return std::ranges::any_of(members_, [](const Member& each) { return each.stopped; });
  }
  [[nodiscard]] bool finished(Rank rank) const { return at(rank).call == calls_.size(); }

  [[nodiscard]] std::string key() const {
    std::string text;
    const auto add = [&](auto number) { text.push_back(static_cast<char>(number)); };
    for (const Text& said : texts_) text += said.text;
    for (const Member& member : members_) {
      for (const Count part : future_of(member.notices)) add(part);
      add(member.call), add(member.part), add(member.asked), add(member.failed);
      add(member.stopped);
    }
    for (const auto& [pair, lane] : lanes_) {
      add(pair.first), add(pair.second);
      for (const auto& [kind, place] : lane) {
        add(kind), add(place.position), add(place.part), add(place.plan_hash);
      }
    }
    return text;
  }

 private:
  enum class Part : std::uint8_t { outside, entered, announcement, memory, plan, exchange };
  struct Member {
    Notices notices;
    std::size_t call = 0;  // that it is in, or comes to
    Part part = Part::outside;
    Rank asked = 0;  // peers in this part
    bool failed = false;
    bool stopped = false;
  };

  [[nodiscard]] const Member& at(Rank rank) const {
    return members_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] bool runs(Rank rank) const {
    return !failed(rank) && !stopped(rank) && !finished(rank);
  }
  [[nodiscard]] static std::uint64_t plan_of(const NoticedCall& call, Rank rank) {
    return call.differs == rank ? 78 : call.without ? 79 : 77;
  }
  /// True if `rank` need not wait for `other` to be in this part of the call.
  [[nodiscard]] bool meets(Rank rank, Rank other, Part part) const {
    const Member& mine = at(rank);
    const Member& theirs = at(other);
    const NoticedCall& call = calls_[mine.call];
    const bool there = theirs.call > mine.call || (theirs.call == mine.call && theirs.part >= part);
    if (part == Part::announcement) return there && call.differs != other;
    if (!there) return false;
    const bool left = call.leaves == other;
    const bool apart = call.differs >= 0 && (call.differs == rank) != (call.differs == other);
    return !left && !apart;
  }
  [[nodiscard]] bool may_go_on(Rank rank) const {
    const Member& member = at(rank);
    if (member.part == Part::outside || member.part == Part::entered) return true;
    const NoticedCall& call = calls_[member.call];
    if (member.part == Part::announcement) return rank == 0 || meets(rank, 0, member.part);
    for (Rank other = 0; other < ranks(); ++other) {
      const bool awaited = call.all || member.part != Part::plan || (other == 0 && rank != 0);
      if (rank == other || !awaited) continue;
      if (!meets(rank, other, member.part)) return false;
    }
    return true;
  }
  void hear(Rank rank, Rank from) {
    Member& member = members_[static_cast<std::size_t>(rank)];
    auto& lane = lanes_[{from, rank}];
    const Notices before = member.notices;
    member.notices.hear(from, lane.front());
    lane.pop_front();
    const auto wrong = member.notices.check();
    if (rules_.forgets && !wrong) member.notices = before;
    look(rank, wrong);
  }
  void go_on(Rank rank) {
    Member& member = members_[static_cast<std::size_t>(rank)];
    const NoticedCall& call = calls_[member.call];
    const std::uint64_t number = member.call + 1;
    const std::uint64_t position = 2 * number;  // a native call before each
    member.asked = 0;
    switch (member.part) {
      case Part::outside:
        if (call.refused == rank) {
          member.notices.leave_to_library(position);
          member.notices.come_back();
        }
        if (call.leaves == rank) {
          member.notices.leave_to_library(position);
          ++member.call;
          return look(rank, member.notices.check_left());
        }
        member.notices.enter_call(position, number);
        member.part = Part::entered;
        return look(rank, member.notices.check());
      case Part::entered:
        if (call.announced && call.differs != rank) {
          member.notices.enter_part(Notices::Part::announcement, 0);
          member.part = Part::announcement;
          return;
        }
        [[fallthrough]];
      case Part::announcement:
        if (call.memory && call.differs != rank) {
          member.notices.enter_part(Notices::Part::memory, 77);
          member.part = Part::memory;
          return;
        }
        [[fallthrough]];
      case Part::memory:
        member.notices.enter_part(Notices::Part::plan, plan_of(call, rank));
        member.part = Part::plan;
        return;
      case Part::plan:
        if (call.exchange) {
          member.notices.enter_part(Notices::Part::exchange, 5);
          member.part = Part::exchange;
          return;
        }
        [[fallthrough]];
      case Part::exchange:
        member.part = Part::outside;
        ++member.call;
    }
  }
  void look(Rank rank, const std::optional<std::string>& wrong) {
    if (!wrong) return;
    texts_.push_back({rank, *wrong});
    fail(rank);
  }
  void fail(Rank rank) {
    Member& member = members_[static_cast<std::size_t>(rank)];
    member.failed = true;
    for (Rank peer = 0; peer < ranks(); ++peer) {
      if (peer == rank || member.notices.has_failed(peer)) continue;
      lanes_[{rank, peer}].push_back(member.notices.failure());
    }
  }

  std::vector<NoticedCall> calls_;
  NoticedRules rules_;
  std::vector<Member> members_;
  std::map<std::pair<Rank, Rank>, std::deque<Notices::Notice>> lanes_;  // from, to
  std::vector<Text> texts_;
};

}  // namespace latecomer::testing
