// The blocks that ranks send each other, round by round: every rank sends and receives at most one
// block in each round.
#pragma once

#include <vector>

#include "algorithms/owners/contributions.hpp"
#include "algorithms/owners/ports.hpp"
#include "algorithms/owners/results.hpp"

namespace latecomer::owners {

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
