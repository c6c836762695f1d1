// Bruck: each rank collects the parts in the order of the ranks from its own on; in round k it
// receives 2^k parts, or as many as it still lacks, from the rank 2^k further on.
//
// Cost: ceil(log2 P) alpha + (P-1)/P m beta, and a copy of the vector. The fewest rounds for every
// P; use it for short parts.
// Source: Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient algorithms for all-to-all communications
// in multiport message-passing systems, IEEE Trans. Parallel Distrib. Syst. 8 (1997).
#include <algorithm>

#include "algorithms/row.hpp"
#include "algorithms/transfers.hpp"
#include "patterns/powers.hpp"

namespace latecomer::allgather {
namespace {

/// The parts in the order of the ranks from `first` on, one after another in scratch.
class Turned {
 public:
  Turned(const std::vector<Range>& parts, Rank first) : begin_{0} {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      begin_.push_back(begin_.back() + parts[(first + i) % parts.size()].count);
    }
  }
  /// The range of the parts at places [first, last).
  [[nodiscard]] Range range(Rank first, Rank last) const {
    return {begin_[first], begin_[last] - begin_[first]};
  }

 private:
  std::vector<Count> begin_;
};

/// The number of parts in a message of the round in which a rank has `held` parts.
Rank handed(Rank held, Rank ranks) { return std::min(held, ranks - held); }

void build(const Plan& plan, Builder& builder) {
  const Rank ranks = plan.problem.ranks;
  const Rank me = builder.me();
  const std::vector<Range> parts = transfers::parts_of(plan.problem);
  const Turned turned(parts, me);
  const Slice all = builder.scratch(plan.problem.count);
  const auto place = [&](Rank first, Rank last) {
    const Range range = turned.range(first, last);
    return all.part(range.begin, range.count);
  };
  builder.copy(builder.input(parts[me]), place(0, 1));
  for (Rank held = 1; held < ranks; held *= 2) {
    const Rank more = handed(held, ranks);
    builder.send((me - held + ranks) % ranks, place(0, more));
    builder.recv((me + held) % ranks, place(held, held + more));
  }
  // Back to the order of the ranks: two stretches, since the parts wrap around once.
  const Rank wrap = ranks - me;
  builder.copy(builder.input(parts[me]), builder.output(parts[me]));
  builder.copy(place(1, wrap), builder.output({parts[me].end(), turned.range(1, wrap).count}));
  builder.copy(place(wrap, ranks), builder.output({0, turned.range(wrap, ranks).count}));
}

Cost cost(const Plan& plan) {
  const Rank ranks = plan.problem.ranks;
  const Count part = transfers::longest_part(plan.problem);
  // In the last round of a power of two partners exchange.
  const Count exchanged = 1 << ceil_log2(ranks) == ranks ? ranks / 2 * part : 0;
  return {ceil_log2(ranks), (ranks - 1) * part, 0, exchanged};
}

}  // namespace

LATECOMER_ROW(allgather, bruck) {
  return {.cost_formula = "ceil(log2 P) alpha + (P-1)/P m beta",
          .source = "Bruck, Ho, Kipnis, Upfal and Weathersby 1997",
          .build = build,
          .cost = cost,
          .informs_all = transfers::all_have_parts};
}

}  // namespace latecomer::allgather
