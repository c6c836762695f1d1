#include "algorithms/moving/replay.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <unordered_map>

#include "algorithms/after_last.hpp"
#include "algorithms/moving/brought.hpp"
#include "base/interruption.hpp"

namespace latecomer::moving {
namespace {

using Ticks = std::int64_t;  // picoseconds, so that what happens together compares equal
using Index = MoveIndex;

// A plan is made for whatever its ranks expect: what lasts longer counts as this long, and what
// would come after the end comes at the end.
constexpr Seconds kLongest = 1e6;
constexpr Ticks kEnd = 8'000'000'000'000'000'000;

Ticks to_ticks(Seconds seconds) {
  return std::llround(std::clamp(seconds, -kLongest, kLongest) * 1e12);
}

Ticks later(Ticks time, Ticks by) { return time > kEnd - by ? kEnd : time + by; }

/// The messages of one pair and direction, which follow each other.
struct Channel {
  std::vector<Index> moves;
  std::size_t sent = 0;      // so many were posted by the sender
  std::size_t received = 0;  // and by the receiver
  bool send_noted = false;   // the next one is about to be posted
  bool receive_noted = false;
  bool leaving = false;
  Count rendezvous = 0;  // long ones that wait for their port or are leaving
  const Channel* opposite = nullptr;
};

struct State {
  std::uint32_t channel = 0;
  std::uint32_t missing = 0;  // of what its sender waits for
  std::uint32_t turn = 0;     // of long receives: counts changes of the sender
  std::vector<Index> later;   // moves that hand it on
  Index next = 0;             // the sender's next move, if that leaves in turn
  bool send_posted = false, recv_posted = false, landed = false, delivered = false;
};

struct Port {
  std::vector<Index> waiting;
  Count leaving = 0;
  std::vector<Ticks> free;  // of those that take in
};

enum class Kind : std::uint8_t { arrive, copied, eligible, left, landed, received };

struct Event {
  Ticks time;
  std::uint64_t number;
  Kind kind;
  Index id;  // of a rank, or a move

  bool operator>(const Event& other) const {
    return time != other.time ? time > other.time : number > other.number;
  }
};

class Replay {
 public:
  Replay(const Moves& moves, const Plan& plan, const Network& network,
         const std::vector<Seconds>& arrivals)
      : moves_(moves),
        problem_(plan.problem),
        network_(network),
        bytes_(plan.problem.element_bytes),
        early_(plan.progress == Progress::background),
        states_(moves.size()),
        ports_(arrivals.size()),
        awaits_copy_(arrivals.size()),
        awaits_arrival_(arrivals.size()),
        long_receives_(arrivals.size()),
        long_done_(arrivals.size()),
        channels_of_(arrivals.size()) {
    for (const Seconds arrival : arrivals) exits_.push_back(to_ticks(arrival));
    const Ticks first = *std::ranges::min_element(exits_);
    for (Port& port : ports_) port.free.assign(static_cast<std::size_t>(network.ports), first);
    index();
  }

  std::vector<Seconds> operator()() {
    if (early_) {
      for (std::size_t rank = 0; rank < ports_.size(); ++rank) note_receives(rank);
      post_noted();
    }
    for (Index rank = 0; rank < exits_.size(); ++rank) {
      schedule(exits_[rank], Kind::arrive, rank);
    }
    while (!events_.empty()) {
      now_ = events_.top().time;
      while (!events_.empty() && events_.top().time == now_) {
        const Event event = events_.top();
        events_.pop();
        handle(event);
      }
      for (const Rank rank : changed_) start_from(ports_[rank]);
      changed_.clear();
    }
    std::vector<Seconds> exits;
    for (const Ticks exit : exits_) exits.push_back(static_cast<Seconds>(exit) * 1e-12);
    return exits;
  }

 private:
  [[nodiscard]] Count size(Index move) const { return moves_[move].range.count * bytes_; }
  [[nodiscard]] bool is_long(Index move) const { return size(move) > network_.eager_limit; }
  [[nodiscard]] Channel& channel_of(Index move) { return channels_[states_[move].channel]; }

  // --- What waits for what ---

  void index() {
    std::unordered_map<std::uint64_t, std::uint32_t> known;
    std::vector<Brought> brought(ports_.size());
    std::vector<Index> last(ports_.size(), kNone);
    for (Index i = 0; i < moves_.size(); ++i) {
      interruption_point();
      const Move& move = moves_[i];
      const std::uint64_t pair = static_cast<std::uint64_t>(move.from) * ports_.size() +
                                 static_cast<std::uint64_t>(move.to);
      const auto [entry, added] =
          known.try_emplace(pair, static_cast<std::uint32_t>(channels_.size()));
      if (added) {
        channels_.emplace_back();
        channels_of_[move.to].push_back(entry->second);
      }
      states_[i].channel = entry->second;
      states_[i].next = kNone;
      channels_[entry->second].moves.push_back(i);
      add_needs(i, brought[move.from], last[move.from]);
      last[move.from] = i;
      brought[move.to].add(move.range, i);
      if (is_long(i)) add_long(i);
    }
    for (const auto& [pair, channel] : known) {
      const std::uint64_t back = pair % ports_.size() * ports_.size() + pair / ports_.size();
      const auto other = known.find(back);
      if (other != known.end()) channels_[channel].opposite = &channels_[other->second];
    }
  }

  void add_needs(Index i, const Brought& brought, Index before) {
    const Move& move = moves_[i];
    State& state = states_[i];
    if (move.own || !early_) {
      ++state.missing;
      (joined(move) ? awaits_copy_ : awaits_arrival_)[move.from].push_back(i);
    }
    brought.each(move.range, [&](Index earlier) {
      ++state.missing;
      states_[earlier].later.push_back(i);
    });
    if (!move.in_turn || before == kNone) return;
    ++state.missing;
    states_[before].next = i;
  }

  /// Whether own data leave together with others', to which they are copied first.
  [[nodiscard]] bool joined(const Move& move) const {
    const Range own = problem_.before(move.from);
    return move.own && (move.range.begin < own.begin || move.range.end() > own.end());
  }

  void add_long(Index i) {
    std::vector<Index>& all = long_receives_[moves_[i].to];
    if (!all.empty()) {
      const bool same = moves_[all.back()].from == moves_[i].from;
      states_[i].turn = states_[all.back()].turn + (same ? 0 : 1);
    }
    all.push_back(i);
  }

  // --- Posting ---

  void schedule(Ticks time, Kind kind, Index id) { events_.push({time, number_++, kind, id}); }

  void handle(const Event& event) {
    interruption_point();
    switch (event.kind) {
      case Kind::arrive:
        return arrive(event.id);
      case Kind::copied:
        for (const Index move : awaits_copy_[event.id]) release(move);
        return post_noted();
      case Kind::eligible:
        return line_up(event.id);
      case Kind::left:
        return leave(event.id);
      case Kind::landed:
        states_[event.id].landed = true;
        if (states_[event.id].recv_posted) deliver(event.id);
        return;
      case Kind::received:
        return deliver(event.id);
    }
  }

  void arrive(std::size_t rank) {
    if (!early_) note_receives(rank);
    for (const Index move : awaits_arrival_[rank]) release(move);
    post_noted();
    if (!awaits_copy_[rank].empty()) schedule(now_, Kind::copied, static_cast<Index>(rank));
  }

  void release(Index move) {
    if (--states_[move].missing == 0) note_send(channel_of(move));
  }

  void note_receives(std::size_t rank) {
    for (const std::uint32_t channel : channels_of_[rank]) note_receive(channels_[channel]);
  }

  // What can be posted is noted, the next of each channel, and posted in the order of the program.

  void note_send(Channel& channel) {
    if (channel.send_noted || channel.sent == channel.moves.size()) return;
    const Index move = channel.moves[channel.sent];
    if (states_[move].missing > 0) return;
    channel.send_noted = true;
    noted_.emplace(move, true);
  }

  void note_receive(Channel& channel) {
    if (channel.receive_noted || channel.received == channel.moves.size()) return;
    const Index move = channel.moves[channel.received];
    const auto to = static_cast<std::size_t>(moves_[move].to);
    if (is_long(move) && states_[move].turn != states_[next_long(to)].turn) return;
    channel.receive_noted = true;
    noted_.emplace(move, false);
  }

  void post_noted() {
    while (!noted_.empty()) {
      const auto [move, sends] = noted_.top();
      noted_.pop();
      sends ? post_send(move) : post_receive(move);
    }
  }

  void post_send(Index move) {
    Channel& channel = channel_of(move);
    State& state = states_[move];
    channel.send_noted = false;
    ++channel.sent;
    state.send_posted = true;
    if (!is_long(move)) {
      schedule(now_, Kind::eligible, move);
    } else if (state.recv_posted) {
      shake_hands(move);
    }
    note_send(channel);
  }

  void post_receive(Index move) {
    Channel& channel = channel_of(move);
    State& state = states_[move];
    channel.receive_noted = false;
    ++channel.received;
    state.recv_posted = true;
    if (is_long(move) && state.send_posted) shake_hands(move);
    if (!is_long(move) && state.landed) schedule(now_, Kind::received, move);
    note_receive(channel);
  }

  void shake_hands(Index move) {
    schedule(later(now_, to_ticks(network_.handshake)), Kind::eligible, move);
  }

  [[nodiscard]] Index next_long(std::size_t rank) const {
    return long_receives_[rank][long_done_[rank]];
  }

  // --- Under way ---

  void line_up(Index move) {
    const Rank from = moves_[move].from;
    if (is_long(move)) ++channel_of(move).rendezvous;
    ports_[from].waiting.push_back(move);
    changed_.push_back(from);
  }

  [[nodiscard]] Ticks duration(Index move) {
    const Channel* const opposite = channel_of(move).opposite;
    const bool slower = is_long(move) && opposite != nullptr && opposite->rendezvous > 0;
    return to_ticks(network_.occupancy(size(move)) * (slower ? network_.exchange : 1));
  }

  void start_from(Port& port) {
    interruption_point();
    auto next = port.waiting.begin();
    while (next != port.waiting.end() && port.leaving < network_.ports) {
      const Index move = *next;
      if (channel_of(move).leaving) {
        ++next;
        continue;
      }
      next = port.waiting.erase(next);
      ++port.leaving;
      channel_of(move).leaving = true;
      const Ticks takes = duration(move);
      Ticks& free = *std::ranges::min_element(ports_[moves_[move].to].free);
      free = later(std::max(free, now_), takes);
      schedule(later(now_, takes), Kind::left, move);
      schedule(free, Kind::landed, move);
    }
  }

  void leave(Index move) {
    const Rank from = moves_[move].from;
    --ports_[from].leaving;
    changed_.push_back(from);
    channel_of(move).leaving = false;
    if (is_long(move)) --channel_of(move).rendezvous;
    exits_[from] = std::max(exits_[from], now_);
    if (states_[move].next != kNone) release(states_[move].next);
    post_noted();
  }

  void deliver(Index move) {
    const Rank to = moves_[move].to;
    states_[move].delivered = true;
    exits_[to] = std::max(exits_[to], now_);
    if (is_long(move)) finish_long(static_cast<std::size_t>(to));
    for (const Index later : states_[move].later) release(later);
    post_noted();
  }

  void finish_long(std::size_t rank) {
    std::size_t& done = long_done_[rank];
    const std::vector<Index>& all = long_receives_[rank];
    while (done < all.size() && states_[all[done]].delivered) ++done;
    if (done < all.size()) note_receive(channel_of(all[done]));
  }

  static constexpr Index kNone = ~Index{0};

  const Moves& moves_;
  const Problem& problem_;
  const Network& network_;
  Count bytes_;  // of an element
  bool early_;   // ranks receive before they arrive
  std::vector<State> states_;
  std::deque<Channel> channels_;
  std::vector<Port> ports_;
  std::vector<std::vector<Index>> awaits_copy_;     // by sender
  std::vector<std::vector<Index>> awaits_arrival_;  // by sender
  std::vector<std::vector<Index>> long_receives_;
  std::vector<std::size_t> long_done_;
  std::vector<std::vector<std::uint32_t>> channels_of_;  // that a rank receives from
  std::vector<Rank> changed_;                            // ports that may have something to send
  std::vector<Ticks> exits_;                             // so far
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::priority_queue<std::pair<Index, bool>, std::vector<std::pair<Index, bool>>, std::greater<>>
      noted_;  // moves that can be posted, and whether by their sender
  std::uint64_t number_ = 0;
  Ticks now_ = 0;
};

}  // namespace

std::vector<Seconds> exits(const Moves& moves, const Plan& plan, const Network& network,
                           const std::vector<Seconds>& arrivals) {
  return Replay(moves, plan, network, arrivals)();
}

Seconds time(const Moves& moves, const Plan& plan, const Network& network) {
  const std::vector<Seconds> together(static_cast<std::size_t>(plan.problem.ranks), 0);
  return std::ranges::max(exits(moves, plan, network, together));
}

Seconds time_after_last(const Moves& moves, const Plan& plan, const Network& network,
                        const std::vector<Seconds>& arrivals) {
  return mean_exit_after_last(exits(moves, plan, network, arrivals), arrivals);
}

}  // namespace latecomer::moving
