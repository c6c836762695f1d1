// The ranks of online owners without data or clock: all that can happen next is at hand, so that
// every order of events can be tried. The world notes the first mistake.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/owners/online_rank.hpp"
#include "unit/futures.hpp"

namespace latecomer::testing {

/// The differences of the world from one where all is well, and its progress threads.
struct OnlineRules {
  bool background = false;  // ranks hear control messages before they arrive
  bool overtaking = false;  // control messages of a pair overtake each other
  bool too_early = false;   // the horizon of an update comes before its entries
};

class OnlineWorld {
 public:
  enum class Happening : std::uint8_t { arrival, word, sent, landed, combined };
  struct Event {
    Happening what;
    Rank from;
    Rank to;
    std::size_t place = 0;  // of a word in its lane
  };

  OnlineWorld(const owners::OnlineCall& call, OnlineRules rules)
      : call_(call),
        rules_(rules),
        everyone_(call.ranks == 64 ? ~Ranks{0} : (Ranks{1} << call.ranks) - 1) {
    for (Rank rank = 0; rank < call.ranks; ++rank) {
      members_.push_back({owners::OnlineRank(call, rank)});
      members_.back().output.assign(static_cast<std::size_t>(call.blocks), Ranks{1} << rank);
    }
  }

  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> all;
    for (Rank rank = 0; rank < call_.ranks; ++rank) {
      const Member& member = at(rank);
      if (!member.arrived) all.push_back({Happening::arrival, -1, rank});
      if (!member.to_combine.empty()) all.push_back({Happening::combined, -1, rank});
    }
    for (const auto& pair : busy_) add_events(pair.first, pair.second, all);
    return all;
  }

  void happen(const Event& event) {
    const Rank me = event.what == Happening::sent ? event.from : event.to;
    expect(!done(me), "something happens at a rank that is done", me);
    owners::OnlineRank::Step step;
    carry_out(event, step);
    follow(me, step);
    if (event.what != Happening::arrival && event.what != Happening::combined) {
      look_whether_busy({event.from, event.to});
    }
    if (!done(me)) return;
    const Member& member = at(me);
    expect(member.to_combine.empty() && member.sending.empty(), "leaves too early", me);
    for (auto& [pair, lane] : lanes_) {
      if (pair.second != me || lane.words.empty()) continue;
      lane.words.clear();  // it hears nothing more
      look_whether_busy(pair);
    }
  }

  [[nodiscard]] bool done(Rank rank) const { return at(rank).rank.done(); }
  /// The first mistake, in words; empty if there is none.
  [[nodiscard]] const std::string& mistake() const { return mistake_; }

  /// The fault of a state in which nothing can happen any more; empty for the wanted end.
  [[nodiscard]] std::string wrong_end() const {
    const auto& entries = at(0).rank.log().entries();
    for (Rank rank = 0; rank < call_.ranks; ++rank) {
      if (!done(rank)) return stuck(rank);
      if (at(rank).rank.log().entries() != entries) return text("has another log", rank);
      for (const Ranks block : at(rank).output) {
        if (block != everyone_) return text("lacks a result", rank);
      }
    }
    return hops_differ(entries);
  }

  /// The rounds of the log's entries, by rank. For worlds that are over.
  [[nodiscard]] std::vector<Count> entry_rounds() const {
    std::vector<Count> rounds(static_cast<std::size_t>(call_.ranks), 0);
    for (const auto& [rank, round] : at(0).rank.log().entries()) rounds[rank] = round;
    return rounds;
  }

  /// Equal for worlds with the same future.
  [[nodiscard]] std::string key() const {
    std::string text = mistake_;
    text.reserve(512);
    const auto add = [&](auto number) { text.push_back(static_cast<char>(number)); };
    for (const Member& member : members_) {
      for (const Count part : future_of(member.rank)) add(part);
      add(member.arrived), add(member.to_combine.size());
      for (const Ranks block : member.output) add(block);
    }
    for (const auto& [pair, lane] : lanes_) {
      add(pair.first), add(pair.second);
      for (const auto& word : lane.words) {
        add(word.kind), add(word.round), add(word.entries.size());
        for (const auto& [rank, round] : word.entries) add(rank), add(round);
      }
      add(-3);
      add(lane.sends.size()), add(lane.receives.size()), add(lane.sent), add(lane.landed);
    }
    return text;
  }

 private:
  using Ranks = std::uint64_t;  // a set of at most 64
  using Pair = std::pair<Rank, Rank>;
  struct Member {
    owners::OnlineRank rank;
    bool arrived = false;
    std::vector<Ranks> output = {};  // by block: the ranks whose contributions it holds
    std::set<Count> sending = {};    // blocks
    std::map<std::size_t, Ranks> landings = {};
    std::deque<std::size_t> to_combine = {};  // receives
  };
  struct Posted {
    std::size_t number;  // among the rank's sends or receives
    owners::Hop hop;
    Ranks content = 0;
  };
  /// From one rank to another. The n-th message is received by the n-th receive.
  struct Lane {
    std::deque<owners::LogMessage> words;
    std::vector<Posted> sends;
    std::vector<Posted> receives;
    std::size_t sent = 0;
    std::size_t landed = 0;

    [[nodiscard]] std::size_t matched() const { return std::min(sends.size(), receives.size()); }
  };

  [[nodiscard]] Member& at(Rank rank) { return members_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const Member& at(Rank rank) const {
    return members_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] static std::string text(const std::string& what, Rank rank) {
    return "rank " + std::to_string(rank) + ": " + what;
  }
  void expect(bool right, const char* mistake, Rank rank) {
    if (!right && mistake_.empty()) mistake_ = text(mistake, rank);
  }

  void add_events(Rank from, Rank to, std::vector<Event>& all) const {
    const Lane& lane = lanes_.at({from, to});
    if (at(to).arrived || rules_.background) {
      const std::size_t heard = rules_.overtaking ? lane.words.size() : 1;
      for (std::size_t i = 0; i < std::min(heard, lane.words.size()); ++i) {
        all.push_back({Happening::word, from, to, i});
      }
    }
    if (lane.sent < lane.matched()) all.push_back({Happening::sent, from, to});
    if (lane.landed < lane.matched()) all.push_back({Happening::landed, from, to});
  }
  void look_whether_busy(Pair pair) {
    const Lane& lane = lanes_[pair];
    const bool busy = !lane.words.empty() || std::min(lane.sent, lane.landed) < lane.matched();
    if (busy) {
      busy_.insert(pair);
    } else {
      busy_.erase(pair);
    }
  }

  void carry_out(const Event& event, owners::OnlineRank::Step& step) {
    Member& member = at(event.to);
    switch (event.what) {
      case Happening::arrival:
        member.arrived = true;
        return member.rank.arrive(step);
      case Happening::combined:
        return combine(event.to, step);
      case Happening::sent:
        return leave(event.from, lanes_[{event.from, event.to}], step);
      case Happening::landed:
        return land(event.to, lanes_[{event.from, event.to}], step);
      case Happening::word:
        break;
    }
    auto& words = lanes_[{event.from, event.to}].words;
    const auto heard = words.begin() + static_cast<std::ptrdiff_t>(event.place);
    const owners::LogMessage word = std::move(*heard);
    words.erase(heard);
    const bool can_come = member.rank.log().can_come(event.from, word);
    expect(can_come, "does not take a control message for one of this call", event.to);
    if (can_come) member.rank.hear(event.from, word, step);
  }
  void leave(Rank from, Lane& lane, owners::OnlineRank::Step& step) {
    const Posted& send = lane.sends[lane.sent++];
    Member& member = at(from);
    expect(member.output[send.hop.block] == send.content, "changed a block that it sends", from);
    member.sending.erase(send.hop.block);
    member.rank.sent(send.number, step);
  }
  void land(Rank to, Lane& lane, owners::OnlineRank::Step& step) {
    const Ranks content = lane.sends[lane.landed].content;
    const Posted& receive = lane.receives[lane.landed++];
    Member& member = at(to);
    if (receive.hop.final) {
      expect(content == everyone_, "receives a result that is none", to);
      member.output[receive.hop.block] = content;
    } else {
      member.landings[member.rank.landing(receive.number)] = content;
      member.to_combine.push_back(receive.number);
    }
    member.rank.received(receive.number, step);
  }
  void combine(Rank me, owners::OnlineRank::Step& step) {
    Member& member = at(me);
    const std::size_t receive = member.to_combine.front();
    member.to_combine.pop_front();
    const Count block = member.rank.receive_hop(receive).block;
    const auto landing = member.landings.find(member.rank.landing(receive));
    expect(!member.sending.contains(block), "combines in a block that it sends", me);
    expect((member.output[block] & landing->second) == 0, "combines something twice", me);
    member.output[block] |= landing->second;
    member.landings.erase(landing);
    member.rank.combined(receive, step);
  }

  void follow(Rank me, const owners::OnlineRank::Step& step) {
    for (const auto& [to, message] : step.tell) tell(me, to, message);
    for (const std::size_t each : step.receive) receive(me, each);
    for (const std::size_t each : step.send) send(me, each);
  }
  void tell(Rank from, Rank to, const owners::LogMessage& message) {
    expect(to != from, "tells itself", from);
    if (done(to)) return;
    auto& words = lanes_[{from, to}].words;
    if (rules_.too_early && message.kind == owners::LogMessage::Kind::update) {
      words.push_back({message.kind, message.round, {}});
    }
    words.push_back(message);
    busy_.insert({from, to});
  }
  void send(Rank me, std::size_t number) {
    Member& member = at(me);
    const owners::Hop& hop = member.rank.send_hop(number);
    Ranks& held = member.output[hop.block];
    expect(hop.from == me, "sends for another rank", me);
    expect(!hop.final || held == everyone_, "sends a result that it does not have", me);
    expect(member.sending.insert(hop.block).second, "sends a block twice at a time", me);
    Lane& lane = post(me, hop);
    lane.sends.push_back({number, hop, held});
    compare(lane, lane.sends.size(), me);
    look_whether_busy({hop.from, hop.to});
  }
  void receive(Rank me, std::size_t number) {
    Member& member = at(me);
    const owners::Hop& hop = member.rank.receive_hop(number);
    expect(hop.to == me, "receives for another rank", me);
    if (hop.final) {
      expect(!member.sending.contains(hop.block), "receives where it sends from", me);
    } else {
      const bool free = member.landings.emplace(member.rank.landing(number), 0).second;
      expect(free, "receives in a landing that is in use", me);
    }
    Lane& lane = post(me, hop);
    lane.receives.push_back({number, hop});
    compare(lane, lane.receives.size(), me);
    look_whether_busy({hop.from, hop.to});
  }
  /// Begins a message: the checks and the effects that both of its ends share.
  Lane& post(Rank me, const owners::Hop& hop) {
    const owners::ArrivalLog& log = at(me).rank.log();
    expect(at(hop.from).arrived && at(hop.to).arrived, "has a message with an absent rank", me);
    expect(!done(hop.from == me ? hop.to : hop.from), "has a message with a rank that left", me);
    expect(log.complete() || hop.round < log.horizon(), "passes the horizon", me);
    return lanes_[{hop.from, hop.to}];
  }
  void compare(const Lane& lane, std::size_t messages, Rank me) {
    if (lane.matched() < messages) return;
    const owners::Hop& sent = lane.sends[messages - 1].hop;
    const owners::Hop& received = lane.receives[messages - 1].hop;
    expect(sent.block == received.block && sent.final == received.final &&
               sent.round == received.round,
           "has a message that meets another one's receive", me);
  }

  [[nodiscard]] std::string stuck(Rank rank) const {
    return text("is stuck, waits " + at(rank).rank.waiting_for(), rank);
  }
  /// Compares all messages with the timetable that is made with the whole log at once.
  [[nodiscard]] std::string hops_differ(const std::vector<owners::LogEntry>& entries) const {
    std::vector<std::pair<std::size_t, std::size_t>> next(entries.size());
    const auto same = [](const owners::Hop& a, const owners::Hop& b) {
      return a.from == b.from && a.to == b.to && a.block == b.block && a.final == b.final &&
             a.round == b.round;
    };
    for (const auto& hop : owners::make_timetable(entry_rounds(), call_.blocks).hops) {
      const bool right = same(at(hop.from).rank.send_hop(next[hop.from].first++), hop) &&
                         same(at(hop.to).rank.receive_hop(next[hop.to].second++), hop);
      if (!right) return text("has another hop than the timetable", hop.from);
    }
    return {};
  }

  owners::OnlineCall call_;
  OnlineRules rules_;
  Ranks everyone_;
  std::vector<Member> members_;
  std::map<Pair, Lane> lanes_;  // from, to
  std::set<Pair> busy_;         // lanes in which something may happen
  std::string mistake_;
};

}  // namespace latecomer::testing
