// The rounds are filled greedily, contributions before results, since those are what everybody
// waits for.
//
// Contributions: who has most left to send goes first, to the owner of the first of its blocks
// whose owner is free; whose owners are all busy hands a block to another rank that still has its
// own contribution to send, so that one message less goes to the owner.
//
// Results: while fewer than half the ranks have a block, all who have it send it on (the last block
// that becomes final needs ceil(log2 P) rounds). Such a rank is on duty: it should not be given
// another young block, of which it could send only one. Who is free after that is matched with
// whoever lacks something that it has, rare blocks first.
#include "algorithms/allreduce/early_owners/timetable.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

#include "algorithms/allreduce/early_owners/bit_rows.hpp"

namespace latecomer::allreduce {
namespace {

class Rounds {
 public:
  Rounds(const std::vector<Count>& arrivals, const std::vector<Rank>& owners)
      : arrivals_(arrivals),
        owners_(owners),
        ranks_(static_cast<Count>(arrivals.size())),
        blocks_(static_cast<Count>(owners.size())),
        pending_(ranks_, blocks_),
        contributors_(blocks_, ranks_),
        owned_(ranks_, blocks_),
        received_(ranks_, blocks_),
        results_(ranks_, blocks_),
        holders_(blocks_, ranks_),
        free_(2, ranks_),
        scratch_(2, std::max(ranks_, blocks_)),
        left_(arrivals.size(), blocks_),
        missing_(owners.size(), ranks_ - 1),
        held_(owners.size(), 0),
        complete_(arrivals.size(), 0),
        busiest_(arrivals.size()),
        heaviest_(owners.size()),
        links_(ranks_, ranks_),
        sender_of_(arrivals.size(), -1) {
    for (Count block = 0; block < blocks_; ++block) give_to_owner(block);
    std::iota(busiest_.begin(), busiest_.end(), 0);
    std::iota(heaviest_.begin(), heaviest_.end(), 0);
    table_.exits.assign(arrivals.size(), 0);
  }

  Timetable run() {
    const auto all = static_cast<std::size_t>(2 * (ranks_ - 1) * blocks_);
    table_.hops.reserve(all);
    for (Count round = 0; table_.hops.size() < all;) {
      const std::size_t before = table_.hops.size();
      begin(round);
      contribute();
      relay();
      if (!unfinished_.empty()) spread();
      apply(before, round + 1);
      round = table_.hops.size() > before ? round + 1 : next_arrival(round);
    }
    return std::move(table_);
  }

 private:
  [[nodiscard]] Bits senders() { return free_[0]; }
  [[nodiscard]] Bits receivers() { return free_[1]; }

  void give_to_owner(Count block) {
    const Rank owner = owners_[block];
    insert(owned_[owner], block);
    --left_[owner];
    for (Rank rank = 0; rank < ranks_; ++rank) {
      if (rank == owner) continue;
      insert(pending_[rank], block);
      insert(contributors_[block], rank);
    }
  }

  void begin(Count round) {
    free_.clear();
    received_.clear();
    for (Rank rank = 0; rank < ranks_; ++rank) {
      if (arrivals_[rank] > round) continue;
      insert(senders(), rank);
      insert(receivers(), rank);
    }
    std::ranges::stable_sort(busiest_, [&](Rank a, Rank b) { return left_[a] > left_[b]; });
  }

  [[nodiscard]] Count next_arrival(Count round) const {
    Count next = -1;
    for (const Count arrival : arrivals_) {
      if (arrival > round && (next < 0 || arrival < next)) next = arrival;
    }
    return next;
  }

  void post(Rank from, Rank to, Count block, bool final) {
    erase(senders(), from);
    erase(receivers(), to);
    table_.hops.push_back({from, to, block, final});
  }

  // --- Contributions ---

  void hand_over(Rank from, Rank to, Count block) {
    post(from, to, block, false);
    erase(pending_[from], block);
    erase(contributors_[block], from);
    insert(received_[to], block);
    --left_[from];
  }

  void contribute() {
    const Bits open = scratch_[0];  // the blocks of owners that can receive
    std::ranges::fill(open, 0);
    for (Rank rank = 0; rank < ranks_; ++rank) {
      if (!contains(receivers(), rank)) continue;
      for (std::size_t i = 0; i < owned_.words(); ++i) open[i] |= owned_[rank][i];
    }
    for (const Rank from : busiest_) {
      if (left_[from] == 0) break;
      if (!contains(senders(), from)) continue;
      const Bits pending = pending_[from];
      const Count block =
          first_member(pending_.words(), [&](std::size_t i) { return pending[i] & open[i]; });
      if (block < 0) continue;
      const Rank owner = owners_[block];
      hand_over(from, owner, block);
      for (std::size_t i = 0; i < owned_.words(); ++i) open[i] &= ~owned_[owner][i];
    }
  }

  /// To ranks that are not later, which have less to do; first the blocks of which most is missing.
  void relay() {
    bool sorted = false;
    for (const Rank from : busiest_) {
      if (left_[from] == 0) break;
      if (!contains(senders(), from) || !find_takers(from)) continue;
      if (!sorted) sort_heaviest();
      sorted = true;
      relay(from);
    }
  }

  void sort_heaviest() {
    std::ranges::stable_sort(heaviest_,
                             [&](Count a, Count b) { return missing_[a] > missing_[b]; });
  }

  /// The ranks that may be handed a block, if there are any.
  bool find_takers(Rank from) {
    const Bits takers = scratch_[0];
    std::ranges::fill(takers, 0);
    bool any = false;
    for (const Rank to : busiest_) {
      if (left_[to] == 0) break;
      if (to == from || arrivals_[to] > arrivals_[from] || !contains(receivers(), to)) continue;
      insert(takers, to);
      any = true;
    }
    return any;
  }

  void relay(Rank from) {
    const Bits takers = scratch_[0];
    for (const Count block : heaviest_) {
      if (missing_[block] < 2) return;
      // What it receives in this round is not combined yet.
      if (!contains(pending_[from], block) || contains(received_[from], block)) continue;
      const Bits others = contributors_[block];
      const auto to = static_cast<Rank>(
          first_member(others.size(), [&](std::size_t i) { return others[i] & takers[i]; }));
      if (to >= 0) return hand_over(from, to, block);
    }
  }

  // --- Results ---

  void give(Rank from, Rank to, Count block) {
    post(from, to, block, true);
    insert(holders_[block], to);
    ++held_[block];
  }

  [[nodiscard]] bool young(Count block) const { return 2 * held_[block] < ranks_; }

  void spread() {
    std::ranges::stable_sort(unfinished_, [&](Count a, Count b) { return held_[a] < held_[b]; });
    const Bits duty = scratch_[0];
    std::ranges::fill(duty, 0);
    std::size_t last = 0;
    for (; last < unfinished_.size() && young(unfinished_[last]); ++last) {
      for (std::size_t i = 0; i < holders_.words(); ++i) duty[i] |= holders_[unfinished_[last]][i];
    }
    for (std::size_t i = 0; i < last; ++i) multiply(unfinished_[i], duty);
    match();
  }

  /// All who have the young block send it on.
  void multiply(Count block, Bits duty) {
    const Bits holders = holders_[block];
    const Bits before = scratch_[1];  // those who have it when the round begins
    std::ranges::copy(holders, before.begin());
    any_member(
        holders_.words(), [&](std::size_t i) { return before[i] & senders()[i]; },
        [&](Count from) {
          Rank to =
              neediest([&](std::size_t i) { return receivers()[i] & ~holders[i] & ~duty[i]; });
          if (to < 0) to = neediest([&](std::size_t i) { return receivers()[i] & ~holders[i]; });
          if (to < 0) return true;
          insert(duty, to);
          give(static_cast<Rank>(from), to, block);
          return false;
        });
  }

  /// Of a set of ranks the one that has fewest blocks, or -1.
  template <class WordAt>
  [[nodiscard]] Rank neediest(const WordAt& word) const {
    Rank best = -1;
    any_member(holders_.words(), word, [&](Count rank) {
      if (best < 0 || complete_[rank] < complete_[best]) best = static_cast<Rank>(rank);
      return false;
    });
    return best;
  }

  /// Kuhn's algorithm: as many more pairs as there can be.
  void match() {
    std::ranges::fill(sender_of_, -1);
    any_member(
        links_.words(), [&](std::size_t i) { return senders()[i]; },
        [&](Count from) {
          link(static_cast<Rank>(from));
          return false;
        });
    for (const Rank from : busiest_) {
      if (!contains(senders(), from)) continue;
      std::ranges::fill(scratch_[0], 0);
      find_receiver(from);
    }
    for (Rank to = 0; to < ranks_; ++to) {
      if (sender_of_[to] >= 0) give(sender_of_[to], to, rarest(sender_of_[to], to));
    }
  }

  /// Whom it could send something.
  void link(Rank from) {
    const Bits mine = results_[from];
    std::ranges::fill(links_[from], 0);
    any_member(
        links_.words(), [&](std::size_t i) { return receivers()[i]; },
        [&](Count to) {
          const Bits theirs = results_[to];
          for (std::size_t i = 0; i < results_.words(); ++i) {
            if ((mine[i] & ~theirs[i]) != 0) return insert(links_[from], to), false;
          }
          return false;
        });
  }

  bool find_receiver(Rank from) {
    const Bits links = links_[from];
    const Bits seen = scratch_[0];
    const auto unseen = [&](std::size_t i) { return links[i] & ~seen[i]; };
    Rank best = -1;
    any_member(links_.words(), unseen, [&](Count to) {
      const bool better = best < 0 || complete_[to] < complete_[best];
      if (sender_of_[to] < 0 && better) best = static_cast<Rank>(to);
      return false;
    });
    if (best >= 0) return sender_of_[best] = from, true;
    return any_member(links_.words(), unseen, [&](Count to) {
      if (contains(seen, to)) return false;
      insert(seen, to);
      if (!find_receiver(sender_of_[to])) return false;
      sender_of_[to] = from;
      return true;
    });
  }

  [[nodiscard]] Count rarest(Rank from, Rank to) {
    const Bits mine = results_[from];
    const Bits theirs = results_[to];
    Count best = -1;
    any_member(
        results_.words(), [&](std::size_t i) { return mine[i] & ~theirs[i]; },
        [&](Count block) {
          if (best < 0 || held_[block] < held_[best]) best = block;
          return false;
        });
    return best;
  }

  // --- The end of a round ---

  void hold(Rank rank, Count block) {
    insert(results_[rank], block);
    ++complete_[rank];
  }

  void apply(std::size_t first, Count round) {
    for (std::size_t i = first; i < table_.hops.size(); ++i) {
      const Hop& hop = table_.hops[i];
      table_.exits[hop.from] = table_.exits[hop.to] = round;
      if (hop.final) {
        hold(hop.to, hop.block);
      } else if (--missing_[hop.block] == 0) {
        finish(hop.block);
      }
    }
    std::erase_if(unfinished_, [&](Count block) { return held_[block] == ranks_; });
    table_.rounds = round;
  }

  void finish(Count block) {
    const Rank owner = owners_[block];
    unfinished_.push_back(block);
    insert(holders_[block], owner);
    held_[block] = 1;
    hold(owner, block);
  }

  const std::vector<Count>& arrivals_;
  const std::vector<Rank>& owners_;
  Count ranks_;
  Count blocks_;
  BitRows pending_;       // by rank: blocks whose contribution it still has to send
  BitRows contributors_;  // by block: who still has to send it
  BitRows owned_;         // by rank
  BitRows received_;      // by rank: contributions in this round
  BitRows results_;       // by rank: final blocks
  BitRows holders_;       // by block: who has it or receives it in this round
  BitRows free_;          // who can still send, and receive, in this round
  BitRows scratch_;
  std::vector<Count> left_;      // by rank: how many pending
  std::vector<Count> missing_;   // by block: messages until it is final
  std::vector<Count> held_;      // by block: how many have it or receive it
  std::vector<Count> complete_;  // by rank: how many final blocks
  std::vector<Rank> busiest_;    // ranks, most left first
  std::vector<Count> heaviest_;  // blocks, most missing first
  std::vector<Count> unfinished_;
  BitRows links_;
  std::vector<Rank> sender_of_;
  Timetable table_;
};

}  // namespace

Timetable make_timetable(const std::vector<Count>& arrivals, const std::vector<Rank>& owners) {
  return Rounds(arrivals, owners).run();
}

std::shared_ptr<const Timetable> shared_timetable(const std::vector<Count>& arrivals,
                                                  const std::vector<Rank>& owners) {
  struct Made {
    std::vector<Count> arrivals;
    std::vector<Rank> owners;
    std::shared_ptr<const Timetable> table;
  };
  constexpr std::size_t kKept = 4;
  thread_local std::deque<Made> kept;
  for (const Made& made : kept) {
    if (made.arrivals == arrivals && made.owners == owners) return made.table;
  }
  kept.push_front(
      {arrivals, owners, std::make_shared<const Timetable>(make_timetable(arrivals, owners))});
  if (kept.size() > kKept) kept.pop_back();
  return kept.front().table;
}

}  // namespace latecomer::allreduce
