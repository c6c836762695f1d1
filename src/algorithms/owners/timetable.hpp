// The timetable of owners: the blocks that ranks send each other, round by round. Every rank sends
// and receives at most one block in each round.
#pragma once

#include <optional>
#include <vector>

#include "patterns/bit_rows.hpp"

namespace latecomer::owners {

// The messages of owners, and the ranks that can still send or receive one in a round.

/// A message with one block: a partial result, which the receiver combines with its own and the
/// sender no longer needs, or the final one.
struct Hop {
  Rank from = 0;
  Rank to = 0;
  Count block = 0;
  bool final = false;
  Count round = 0;
};

class FreePorts {
 public:
  explicit FreePorts(Count ranks) : free_(2, ranks) {}

  [[nodiscard]] ConstBits senders() const { return free_[0]; }
  [[nodiscard]] ConstBits receivers() const { return free_[1]; }

  /// A round begins: all ranks that are present can send and receive.
  void begin(ConstBits present) {
    std::ranges::copy(present, free_[0].begin());
    std::ranges::copy(present, free_[1].begin());
  }
  void take(const Hop& hop) {
    erase(free_[0], hop.from);
    erase(free_[1], hop.to);
  }

 private:
  BitRows free_;
};

// Ranks send their contributions to the owners of the blocks, directly or by way of other ranks.

/// The owner of a block collects the contributions to it: rank b mod P owns block b, whichever
/// ranks are late.
class Contributions {
 public:
  Contributions(Count ranks, Count blocks);

  [[nodiscard]] Rank owner(Count block) const { return static_cast<Rank>(block % ranks_); }
  /// Adds the contributions that are sent in this round, in which no rank has sent anything yet.
  void send(FreePorts& ports, std::vector<Hop>& hops);
  /// The end of a round: one contribution to the block is received. True if it was the last one.
  bool come(Count block);
  /// The end of a round: the rank has the result of one more block.
  void note_result(Rank rank) { --to_receive_[rank]; }

 private:
  void share(Count block);
  void send_to_owners(FreePorts& ports, std::vector<Hop>& hops);
  void send_by_others(FreePorts& ports, std::vector<Hop>& hops);
  [[nodiscard]] Hop hand_over(Rank from, Rank to, Count block);
  void mark_blocks_of(ConstBits receivers);
  [[nodiscard]] Count first_to_send(Rank from) const;
  [[nodiscard]] Rank receiver(Rank from, Count block, const FreePorts& ports) const;
  [[nodiscard]] std::optional<Hop> relay(Rank from, const FreePorts& ports);

  Count ranks_;
  Count margin_;                   // messages that a rank must have less to receive than an owner
  BitRows pending_;                // by rank: blocks whose contribution it still has to send
  BitRows contributors_;           // by block: ranks that still have to send it
  BitRows owned_;                  // by rank
  BitRows received_;               // by rank: contributions in this round
  BitRows open_;                   // one row: blocks whose owner can receive
  std::vector<Count> left_;        // by rank: the number of pending blocks
  std::vector<Count> missing_;     // by block: messages until it is final
  std::vector<Count> to_receive_;  // by rank: contributions to its own blocks, and results
  std::vector<Rank> busiest_;      // ranks, most left first
  std::vector<Count> heaviest_;    // blocks, most missing first
};

/// Final blocks spread from their owners to all ranks.
class Results {
 public:
  Results(Count ranks, Count blocks);

  /// The end of a round: a block is final at its owner; or a rank has received one.
  void finish(Count block, Rank owner);
  void come(Rank rank, Count block);

  /// Adds the results that are sent in this round.
  void send(FreePorts& ports, std::vector<Hop>& hops);

 private:
  void link(Rank from, ConstBits receivers);
  bool find_receiver(Rank from);
  [[nodiscard]] Count rarest(Rank from, Rank to) const;
  /// The rank with fewest blocks in the set whose words are word(0), word(1), ..., or -1.
  template <class WordAt>
  [[nodiscard]] Rank neediest(const WordAt& word) const;

  Count ranks_;
  Count spreading_ = 0;          // final blocks that some rank neither has nor receives
  BitRows results_;              // by rank: final blocks
  BitRows links_;                // by rank: ranks to which it could send a block
  BitRows seen_;                 // one row: receivers that a search has reached
  BitRows taken_;                // one row: receivers that have a sender
  std::vector<Count> held_;      // by block: the number of ranks that have or receive it
  std::vector<Count> complete_;  // by rank: the number of final blocks
  std::vector<Rank> sender_of_;
};

// The blocks that ranks send each other, round by round: every rank sends and receives at most one
// block in each round.

/// True for an all-reduce: contributions to a block come together at its owner. In an all-gather
/// the owner has the block from the beginning.
enum class Combines : bool { no, yes };

/// Makes a timetable round by round. The owner of block b is rank b mod P. Ranks take part from the
/// round on in which they are added: so the hops of a round do not depend on ranks that arrive
/// later.
class TimetableBuilder {
 public:
  TimetableBuilder(Rank ranks, Count blocks, Combines combines = Combines::yes);

  /// The rank takes part from round() on. Each rank is added once.
  void add(Rank rank);
  /// The next round to fill.
  [[nodiscard]] Count round() const { return round_; }
  /// Fills the next round. Where no hop was possible, none is until another rank is added.
  void fill();
  /// Fills the rounds before `end`, as far as there is something to send.
  void fill_until(Count end);
  /// Goes to `round` without hops. Only where no hop was possible in the last round.
  void skip_to(Count round) { round_ = round; }
  /// True if no hop is possible until another rank is added.
  [[nodiscard]] bool dry() const { return dry_; }
  /// True if all ranks have all results.
  [[nodiscard]] bool complete() const { return hops_.size() == all_; }
  /// The hops so far, in the order of their rounds.
  [[nodiscard]] const std::vector<Hop>& hops() const { return hops_; }
  [[nodiscard]] std::vector<Hop> take_hops() { return std::move(hops_); }

 private:
  void end_round(std::size_t first);

  Rank ranks_;
  Count blocks_;
  Combines combines_;
  std::size_t all_;
  BitRows present_;  // one row
  FreePorts ports_;
  Contributions contributions_;
  Results results_;
  std::vector<Hop> hops_;
  Count round_ = 0;
  bool dry_ = true;
};

struct Timetable {
  std::vector<Hop> hops;     // in the order of their rounds
  std::vector<Count> exits;  // by rank: rounds after which it has nothing left to do
  Count rounds = 0;          // until the last message is received
};

/// A timetable of so many blocks. `arrivals`: by rank, the round from which on it takes part.
[[nodiscard]] Timetable make_timetable(const std::vector<Count>& arrivals, Count blocks,
                                       Combines combines = Combines::yes);

}  // namespace latecomer::owners
