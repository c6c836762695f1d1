// The ranks of an arrival broadcast without data or clock: all that can happen next is at hand, so
// that every order of events can be tried.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/bcast/arrival/arrival_rank.hpp"
#include "unit/futures.hpp"

namespace latecomer::testing {

/// The differences of the world from one where all is well.
struct Rules {
  bool waits = false;   // segments leave only when their receiver is ready for them
  bool hasty = false;   // ranks leave as soon as they have all, even if others may follow
  Count room = 64;      // messages from a rank before a receive; words behind more wait
  bool behind = false;  // the root announces segments sent ahead only after them
};

class ArrivalWorld {
 public:
  enum class Happening : std::uint8_t { arrival, word, sent, landed };
  /// To `to`, but for `sent`: of `from`.
  struct Event {
    Happening what;
    Rank from;
    Rank to;
    Count segment = 0;
  };

  ArrivalWorld(const bcast::Feeding& feeding, Rules rules)
      : feeding_(feeding), rules_(rules), absent_(static_cast<std::size_t>(feeding.ranks), true) {
    for (Rank rank = 0; rank < feeding.ranks; ++rank) members_.emplace_back(feeding, rank);
  }

  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> all;
    for (Rank to = 0; to < feeding_.ranks; ++to) {
      if (absent(to)) all.push_back({Happening::arrival, -1, to});
    }
    for (const auto& [pair, lane] : lanes_) add_events(pair.first, pair.second, lane, all);
    return all;
  }

  void happen(const Event& event) {
    const Rank me = event.what == Happening::sent ? event.from : event.to;
    confused_ |= done(me);  // words to it are gone
    follow(me, step_after(event));
    if (!done(me)) return;
    // It hears nothing more.
    for (auto& [pair, lane] : lanes_) {
      if (pair.second == me) lane.words.clear();
    }
  }

  /// True if a rank sent a segment that it did not have, received one before it was there, or left
  /// before its messages had left, or if a message met the receive of another one.
  [[nodiscard]] bool confused() const { return confused_; }
  /// True if this state, in which nothing can happen any more, is the wanted end.
  [[nodiscard]] bool over() const {
    for (Rank rank = 0; rank < feeding_.ranks; ++rank) {
      const bcast::Forwarder* const fed = members_[static_cast<std::size_t>(rank)].fed();
      if (!done(rank) || (fed != nullptr && fed->missing() > 0)) return false;
    }
    return std::ranges::all_of(lanes_, [](const auto& entry) {
      const Lane& lane = entry.second;
      return lane.sends == lane.receives && lane.left == lane.sends.count;
    });
  }
  /// Where nothing can happen but arrivals: whether one that is there and the root's waits for one
  /// that is not. The root may.
  [[nodiscard]] bool keeps_waiting() const {
    if (absent(feeding_.root)) return false;
    for (Rank rank = 0; rank < feeding_.ranks; ++rank) {
      if (rank != feeding_.root && !absent(rank) && !done(rank)) return true;
    }
    return false;
  }
  [[nodiscard]] bool done(Rank rank) const {
    const bcast::ArrivalRank& member = members_[static_cast<std::size_t>(rank)];
    const bcast::Forwarder* const fed = member.fed();
    if (rules_.hasty && fed != nullptr && fed->feeds() < 0) {
      return !absent(rank) && fed->missing() == 0;
    }
    return member.done();
  }

  /// Equal for worlds with the same future.
  [[nodiscard]] std::string key() const {
    std::string text;
    text.reserve(512);
    const auto add = [&](Count number) { text.push_back(static_cast<char>(number)); };
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      for (const Count part : future_of(members_[rank])) add(part);
      add(absent_[rank] ? 1 : 0);
      add(-2);
    }
    for (const auto& [pair, lane] : lanes_) {
      add(pair.first), add(pair.second);
      for (const auto& [word, behind] : lane.words) {
        add(static_cast<Count>(word.said)), add(word.rank), add(word.segment), add(behind);
      }
      add(-3);
      for (const Run& run : {lane.sends, lane.receives}) add(run.first), add(run.count);
      add(lane.left);
      add(static_cast<Count>(lane.landed));
    }
    return text;
  }

 private:
  using Segments = std::uint64_t;  // a set of at most 64
  /// Segments that follow each other.
  struct Run {
    Count first = 0;
    Count count = 0;

    bool operator==(const Run&) const = default;
  };
  struct OnItsWay {
    bcast::Word word;
    Count behind;  // so many messages
  };
  /// From one rank to another. The n-th message is received by the n-th receive.
  struct Lane {
    std::vector<OnItsWay> words;  // in their order
    Run sends;                    // posted
    Run receives;                 // likewise
    Count left = 0;
    Segments landed = 0;

    [[nodiscard]] bool has_landed(Count segment) const { return (landed >> segment & 1) != 0; }
  };

  [[nodiscard]] bool absent(Rank rank) const { return absent_[static_cast<std::size_t>(rank)]; }
  void add_events(Rank from, Rank to, const Lane& lane, std::vector<Event>& all) const {
    const bool heard =
        !lane.words.empty() && lane.words.front().behind <= lane.receives.count + rules_.room;
    if (heard) all.push_back({Happening::word, from, to});
    const Count matched = std::min(lane.sends.count, lane.receives.count);
    // Two segments may overtake each other.
    for (Count segment = lane.sends.first; segment < lane.sends.first + matched; ++segment) {
      if (!lane.has_landed(segment)) all.push_back({Happening::landed, from, to, segment});
    }
    // Which one has left makes no difference.
    if (lane.left < (rules_.waits ? matched : lane.sends.count)) {
      all.push_back({Happening::sent, from, to});
    }
  }
  bcast::Step step_after(const Event& event) {
    const auto member = [this](Rank rank) -> bcast::ArrivalRank& {
      return members_[static_cast<std::size_t>(rank)];
    };
    if (event.what == Happening::arrival) {
      absent_[static_cast<std::size_t>(event.to)] = false;
      return member(event.to).arrive();
    }
    Lane& lane = lanes_[{event.from, event.to}];
    if (event.what == Happening::sent) {
      ++lane.left;
      return member(event.from).sent(event.to);
    }
    if (event.what == Happening::landed) {
      lane.landed |= Segments{1} << event.segment;
      return member(event.to).received(event.segment);
    }
    const bcast::Word word = lane.words.front().word;
    lane.words.erase(lane.words.begin());
    return member(event.to).hear(event.from, word);
  }
  void follow(Rank me, const bcast::Step& step) {
    for (const auto& [to, word] : step.tell) {
      if (done(to)) continue;
      Lane& lane = lanes_[{me, to}];
      const bool moved = rules_.behind && word.said == bcast::Said::soon;
      lane.words.push_back({word, moved ? word.segment : lane.sends.count});
    }
    for (const bcast::Transfer& transfer : step.send) {
      confused_ |= !holds(me, transfer.segment);
      Lane& lane = lanes_[{me, transfer.peer}];
      post(transfer, lane.sends, lane.receives);
    }
    confused_ |= absent(me) && !step.receive.empty();
    for (const bcast::Transfer& transfer : step.receive) {
      Lane& lane = lanes_[{transfer.peer, me}];
      post(transfer, lane.receives, lane.sends);
    }
  }
  [[nodiscard]] bool holds(Rank rank, Count segment) const {
    if (rank == feeding_.root) return !absent(rank);
    return std::ranges::any_of(lanes_, [&](const auto& entry) {
      return entry.first.second == rank && entry.second.has_landed(segment);
    });
  }
  /// `other`: the messages that the other side has posted.
  void post(const bcast::Transfer& transfer, Run& mine, const Run& other) {
    if (mine.count == 0) mine.first = transfer.segment;
    confused_ |= transfer.first != (mine.count == 0);
    confused_ |= transfer.segment != mine.first + mine.count;
    confused_ |= other.count > 0 && other.first != mine.first;
    ++mine.count;
  }

  bcast::Feeding feeding_;
  Rules rules_;
  std::vector<bcast::ArrivalRank> members_;
  std::vector<bool> absent_;
  std::map<std::pair<Rank, Rank>, Lane> lanes_;  // from, to
  bool confused_ = false;
};

}  // namespace latecomer::testing
